#include "loadgen/echo/echo_options.hpp"

#include <CLI/CLI.hpp>

#include "simco/cli/command_line.hpp"
#include "simco/cli/transport_arguments.hpp"
#include "simco/cli/values.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::loadgen {

std::expected<net::ListenOptions, cli::UsageExit> parse_echo_settings(int argc,
                                                                      const char* const* argv) {
  net::ListenOptions settings;
  cli::TransportArguments transport;
  CLI::App app("Echo server for simco-loadgen --workload echo", "simco-echo");
  cli::set_layout(app, "  simco-echo --listen 192.0.2.1 --port 7700");
  transport.declare(app, cli::Role::kListener);
  app.add_option("--listen", settings.addresses, "Addresses to listen on, comma-separated")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--port", settings.port, "Port to listen on; 0: any free port")
      ->check(cli::whole_number(0, 65'535))
      ->capture_default_str();
  transport.declare_tls(app);
  app.option_defaults()->group("Other");
  cli::declare_help(app);
  if (const auto exit = cli::parse(app, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = transport.fault()) return std::unexpected(cli::wrong(app, *fault));
  if (const auto remark = transport.remark()) cli::complain("simco-echo", *remark);
  settings.transports = transport.transports();
  settings.settings = transport.settings();
  settings.tls = transport.tls();
  for (auto& address : settings.addresses) {
    auto parsed = net::parse_listen_address(address);
    if (!parsed) return std::unexpected(cli::wrong(app, "--listen: " + parsed.error()));
    address = std::move(*parsed);
  }
  return settings;
}

}  // namespace simco::loadgen
