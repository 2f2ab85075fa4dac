// Command line of simco-echo.
#pragma once

#include <expected>

#include "simco/cli/command_line.hpp"
#include "simco/net/listener.hpp"

namespace simco::loadgen {

/// Parses the command line of simco-echo.
std::expected<net::ListenOptions, cli::UsageExit> parse_echo_settings(int argc,
                                                                      const char* const* argv);

}  // namespace simco::loadgen
