// The transport options that all programs share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simco/net/tls.hpp"
#include "simco/net/transport.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace simco::cli {

/// The kind of program: an agent connects to one middlebox, the others listen.
enum class Role : std::uint8_t { kAgent, kListener };

/// The values of the options. Must exist as long as the CLI::App to which they were declared.
class TransportArguments {
 public:
  /// Declares the options. `role` decides whether `--transport` takes a list and whether `--bind`
  /// exists.
  void declare(CLI::App& app, Role role);

  /// Declares the options of TLS as well.
  void declare_tls(CLI::App& app);
  /// Checks the options after parsing and reads the TLS files. Returns an error message, or
  /// nullopt.
  std::optional<std::string> fault();

  /// Returns the transports in `--transport`, each once.
  std::vector<net::Transport> transports() const;
  net::SctpOptions sctp() const;
  /// Returns the options for connecting. For Role::kAgent.
  net::TransportOptions options() const;
  /// Returns null without TLS. After fault().
  const std::shared_ptr<const net::TlsContext>& tls() const { return tls_; }

 private:
  static std::uint32_t milliseconds(std::chrono::milliseconds time) {
    return static_cast<std::uint32_t>(time.count());
  }
  void declare_sctp(CLI::App& app);
  std::optional<std::string> load_tls();

  Role role_ = Role::kAgent;
  net::TlsFiles tls_files_;
  std::string tls_name_;
  std::shared_ptr<const net::TlsContext> tls_;
  std::vector<std::string> transports_;  ///< by default the first of the table
  std::vector<std::string> bind_;
  std::string stack_ = "auto";
  std::string scheduler_ = "fcfs";
  net::SctpOptions sctp_;
  std::uint32_t rto_initial_ms_ = milliseconds(sctp_.rto_initial);
  std::uint32_t rto_min_ms_ = milliseconds(sctp_.rto_min);
  std::uint32_t rto_max_ms_ = milliseconds(sctp_.rto_max);
  std::uint32_t sack_delay_ms_ = milliseconds(sctp_.sack_delay);
  std::uint32_t heartbeat_ms_ = milliseconds(sctp_.heartbeat);
  const CLI::Option* udp_encaps_ = nullptr;
};

}  // namespace simco::cli
