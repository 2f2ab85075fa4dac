// Command lines of simco-loadgen and simco-echo.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/generator.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/listener.hpp"
#include "simco/session/authentication.hpp"

namespace simco::loadgen {

/// The parsed command line of simco-loadgen.
struct Settings {
  net::HostPort target;
  net::TransportOptions transport;
  bool unordered = false;
  bool hold = false;
  std::uint32_t connections = 1;
  std::string workload = "per";
  std::uint64_t rules = 0;
  std::optional<Credentials> credentials;  ///< if the middlebox requires authentication
  GeneratorOptions generator;
  std::string arrivals = "poisson";
  std::string json;     ///< file, "-" or empty
  std::string samples;  ///< file or empty
};

/// The text to print instead of running, and the exit status.
struct UsageExit {
  std::string text;
  int code = 2;
};

/// Parses the command line of simco-loadgen, or of simco-echo.
std::expected<Settings, UsageExit> parse_settings(int argc, const char* const* argv);
std::expected<net::ListenOptions, UsageExit> parse_echo_settings(int argc, const char* const* argv);

}  // namespace simco::loadgen
