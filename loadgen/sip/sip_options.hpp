// Command line of simco-sip.
#pragma once

#include <expected>
#include <string>

#include "loadgen/sip/sip_server.hpp"
#include "simco/cli/command_line.hpp"

namespace simco::loadgen {

/// The parsed command line of simco-sip.
struct SipSettings {
  SipServerOptions server;
  std::string response = "180";
  std::string samples;  ///< file or empty
  std::string json;     ///< file, "-" or empty
};

/// Parses the command line of simco-sip.
std::expected<SipSettings, cli::UsageExit> parse_sip_settings(int argc, const char* const* argv);

/// Returns the JSON document of doc/measuring.md, ending in a newline.
std::string sip_json(const SipSettings& settings, const SipServer& server);

}  // namespace simco::loadgen
