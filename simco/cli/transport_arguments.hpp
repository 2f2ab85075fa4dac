// The transport options that all programs share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/tls.hpp"
#include "simco/net/transport_type.hpp"

namespace CLI {
class App;
}

namespace simco::cli {

/// The kind of program: an agent connects to one middlebox, the others listen.
enum class Role : std::uint8_t { kAgent, kListener };

/// The values of the options, which the rows of the table of transports name. Must exist as long as
/// the CLI::App to which they were declared.
class TransportArguments {
 public:
  /// Declares the options. `role` decides whether `--transport` takes a list and whether `--bind`
  /// exists, `need` which transports there are to choose from.
  void declare(CLI::App& app, Role role, net::Need need = net::Need::kReliable);

  /// Declares the options of TLS as well.
  void declare_tls(CLI::App& app);
  /// Checks the options after parsing and reads the TLS files. Returns an error message, or
  /// nullopt.
  std::optional<std::string> fault();
  /// Returns a sentence about an option that the user has given and that no chosen transport has,
  /// or nullopt. fault() lets options of other reliable transports pass.
  std::optional<std::string> remark() const;

  /// Returns the transports in `--transport`, each once.
  std::vector<net::Transport> transports() const;
  /// Returns what was chosen about them.
  const net::TransportSettings& settings() const { return settings_; }
  /// Returns the options for connecting. For Role::kAgent.
  net::TransportOptions options() const;
  /// Returns null without TLS. After fault().
  const std::shared_ptr<const net::TlsContext>& tls() const { return tls_; }

 private:
  void declare_option(CLI::App& app, const net::TransportType& type,
                      const net::TransportOption& option);
  std::optional<std::string> misplaced() const;
  std::optional<std::string> load_tls();

  Role role_ = Role::kAgent;
  net::TlsFiles tls_files_;
  std::string tls_name_;
  std::shared_ptr<const net::TlsContext> tls_;
  std::vector<std::string> transports_;  ///< by default the first of the table
  std::vector<std::string> bind_;
  net::TransportSettings settings_;
  /// Options that the user has given, with the transport that has them.
  std::vector<std::pair<const net::TransportType*, const net::TransportOption*>> given_;
};

}  // namespace simco::cli
