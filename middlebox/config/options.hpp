// Command line and configuration file of simco-middlebox.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "middlebox/config/backend_type.hpp"
#include "middlebox/serve/options.hpp"
#include "simco/cli/command_line.hpp"

namespace simco::middlebox {

/// Everything that main needs to build the program.
struct Settings {
  ServerOptions server;
  std::unique_ptr<BackendType> backend;  ///< that enforces the rules
  std::span<const int> capabilities;     ///< that it needs after the start
  std::string internal_if;               ///< interfaces of a router; empty: it is none
  std::string external_if;
  std::string state;          ///< where rules are stored, see store::make_store(); empty: nowhere
  bool state_on_disk = true;  ///< a state file must be on disk before a reply is sent
  std::string log_level = "info";
  bool check_only = false;    ///< check the options, then exit
  bool remove_rules = false;  ///< remove the table of an earlier run from the kernel, then exit
  std::string metrics;        ///< ADDRESS:PORT to serve metrics at; empty: none
  std::string inspect;        ///< ADDRESS:PORT to serve counts of rules on; empty: none
  /// Each option by its name, as text: to detect changes on a reload.
  std::map<std::string, std::string> options;
  std::vector<std::string> secret_files;  ///< that have secrets, among them the configuration file
};

/// Parses the command line and the configuration file that it names. `backends` must outlive the
/// result.
std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv,
                                                       BackendTable backends);

/// Limits connections without a session to a quarter of the `descriptors` that the process may have
/// open, and the TLS handshakes of all addresses together to another quarter.
void share_descriptors(ServerOptions& options, std::size_t descriptors);

/// Returns the findings of --check beyond mistakes in the configuration itself, about settings that
/// parse_settings() has accepted: obstacles of this host, and options without effect.
std::vector<Finding> examine(const Settings& settings);

}  // namespace simco::middlebox
