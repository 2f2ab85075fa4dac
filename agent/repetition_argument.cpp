#include "agent/repetition_argument.hpp"

#include <CLI/CLI.hpp>

#include "simco/cli/values.hpp"
#include "simco/net/transport_type.hpp"
#include "simco/session/limits.hpp"

namespace simco::agent {

void RepetitionArgument::declare(CLI::App& app) {
  app.add_option("--repeat-after", round_trips_,
                 "Send a request once more, on another stream, if its reply takes longer than this "
                 "many round trips on average, such as 1.2; the middlebox must recognize repeated "
                 "requests (simco-middlebox --keep-replies); 0: never")
      ->check(cli::number(0.0, kRepeatAfterMax))
      ->capture_default_str();
}

std::optional<std::string> RepetitionArgument::fault(net::Transport transport) const {
  if (round_trips_ == 0) return std::nullopt;
  if (round_trips_ <= 1) return "--repeat-after must be more than 1 (or 0: never)";
  if (net::type_of(transport).streams) return std::nullopt;
  return "--repeat-after needs a transport with streams (--transport " +
         net::transport_names(" or ", &net::TransportType::streams) +
         "): on the same stream a repeated request would wait behind the first one";
}

std::optional<double> RepetitionArgument::round_trips() const {
  return round_trips_ == 0 ? std::nullopt : std::optional(round_trips_);
}

}  // namespace simco::agent
