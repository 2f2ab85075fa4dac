#include "loadgen/echo/echo_options.hpp"

#include <CLI/CLI.hpp>

#include "simco/cli/transport_arguments.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::loadgen {

std::expected<net::ListenOptions, UsageExit> parse_echo_settings(int argc,
                                                                 const char* const* argv) {
  const std::string program = "simco-echo";
  net::ListenOptions settings;
  cli::TransportArguments transport;
  CLI::App app("Echo server for simco-loadgen --workload echo", program);
  transport.declare(app, cli::Role::kListener);
  app.add_option("--listen", settings.addresses, "Addresses to listen on, comma-separated")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--port", settings.port, "Port to listen on; 0: any free port")
      ->capture_default_str();
  if (const auto exit = parse(app, program, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = transport.fault()) return std::unexpected(wrong(program, *fault));
  settings.transports = transport.transports();
  settings.settings = transport.settings();
  for (auto& address : settings.addresses) {
    auto parsed = net::parse_listen_address(address);
    if (!parsed) return std::unexpected(wrong(program, "--listen: " + parsed.error()));
    address = std::move(*parsed);
  }
  return settings;
}

}  // namespace simco::loadgen
