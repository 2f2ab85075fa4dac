#include "loadgen/echo/echo_options.hpp"

#include "simco/cli/options.hpp"
#include "simco/cli/transport_arguments.hpp"

namespace simco::loadgen {

std::expected<net::ListenOptions, cli::UsageExit> parse_echo_settings(int argc,
                                                                      const char* const* argv) {
  net::ListenOptions settings;
  cli::TransportArguments transport;
  cli::Options options("simco-echo", "Echo server for simco-loadgen --workload echo",
                       "  simco-echo --listen 192.0.2.1 --port 7700");
  transport.declare_listener(options, settings);
  options.group("Other");
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = transport.fault()) return std::unexpected(cli::wrong(options, *fault));
  if (const auto remark = transport.remark()) cli::complain("simco-echo", *remark);
  return settings;
}

}  // namespace simco::loadgen
