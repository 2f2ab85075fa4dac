// Command line and configuration file of simco-middlebox.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>

#include "middlebox/server.hpp"

namespace simco::middlebox {

/// How rules are enforced by a kernel.
struct RouterSettings {
  std::string internal_if;
  std::string external_if;
  std::string table = "simco";
  bool own_table = true;        ///< false: chains of the site's table jump to ours
  bool allow_outbound = false;  ///< internal to external passes without rules
  bool keep_rules = false;      ///< leave the table in the kernel at an orderly stop
  bool claim_table = true;      ///< nobody else may change the own table, where the kernel can
};

/// Everything that main needs to build the program.
struct Settings {
  ServerOptions server;
  std::string backend = "null";
  RouterSettings router;
  std::string state;          ///< where rules are kept: a file, or redis://...; empty: nowhere
  bool state_on_disk = true;  ///< a file: a rule is kept when the disk has it
  std::string log_level = "info";
  bool check_only = false;  ///< say whether the options are good, and end
  std::string metrics;      ///< ADDRESS:PORT to serve them at; empty: none
  /// Each option that was given, by its name, as text: to tell what a reload would change.
  std::map<std::string, std::string> options;
};

/// What to print instead of running: help or version on standard output (exit 0), or the one line
/// that says what is wrong on standard error (exit 2).
struct UsageExit {
  std::string text;
  int code = 2;
};

std::expected<Settings, UsageExit> parse_settings(int argc, const char* const* argv);

/// Of the `descriptors` that the process may have open, connections without a session get a quarter
/// at most, and TLS handshakes, of all addresses together, another.
void share_descriptors(ServerOptions& options, std::size_t descriptors);

}  // namespace simco::middlebox
