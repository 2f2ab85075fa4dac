// The transport options that all programs share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simco/cli/options.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/tls.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::cli {

/// Group of the options of a transport that all programs share.
inline constexpr const char* kConnectionGroup = "Connection";

/// The options, which the rows of the table of transports name, with their values.
class TransportArguments {
 public:
  /// Declares the options of a program that connects. `need` decides which transports there are to
  /// choose from. Must exist as long as `options`.
  void declare(Options& options, net::Need need = net::Need::kReliable);
  /// Declares the options of TLS as well.
  void declare_tls(Options& options);
  /// Declares the options of a program that listens, where `listen` says if they do not.
  void declare_listener(Options& options, net::ListenOptions& listen,
                        net::Need need = net::Need::kReliable);
  /// Checks the options after parsing, reads the TLS files, and sets what a listener was declared
  /// with. Returns an error message, or nullopt.
  std::optional<std::string> fault();
  /// Returns a sentence about an option that the user has given and that no chosen transport has,
  /// or nullopt. fault() lets options of other reliable transports pass.
  std::optional<std::string> remark() const;

  /// Returns the options for connecting. After fault().
  net::TransportOptions options() const;

 private:
  void declare_rows(Options& options);
  void declare_row(Options& options, const net::TransportType& type,
                   const net::TransportOption& row);
  std::optional<std::string> misplaced() const;
  std::optional<std::string> load_tls();
  /// Returns the transports in `--transport`, each once.
  std::vector<net::Transport> transports() const;

  net::ListenOptions* listen_ = nullptr;  ///< of a program that listens
  net::TlsFiles tls_files_;
  std::string tls_name_;
  std::shared_ptr<const net::TlsContext> tls_;
  /// By default the first of the table.
  std::vector<std::string> transports_{net::transport_types().front().name};
  std::vector<std::string> bind_;
  net::TransportSettings settings_;
  /// Options that the user has given, with the transport that has them.
  std::vector<std::pair<const net::TransportType*, const net::TransportOption*>> given_;
};

}  // namespace simco::cli
