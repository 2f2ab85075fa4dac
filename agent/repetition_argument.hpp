// The option `--repeat-after` of programs that send requests to a middlebox.
#pragma once

#include <optional>
#include <string>

#include "simco/net/transport.hpp"

namespace CLI {
class App;
}

namespace simco::agent {

/// The value of the option. Must exist as long as the CLI::App to which it was declared.
class RepetitionArgument {
 public:
  void declare(CLI::App& app);
  /// Returns a sentence about why requests cannot be repeated over `transport`, if they were to be.
  std::optional<std::string> fault(net::Transport transport) const;
  /// Returns AgentOptions::repeat_after.
  std::optional<double> round_trips() const;

 private:
  double round_trips_ = 0;  ///< 0: nothing is repeated
};

}  // namespace simco::agent
