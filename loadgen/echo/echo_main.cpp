// simco-echo: listens until told to stop.
#include <boost/asio/io_context.hpp>
#include <exception>
#include <expected>

#include "loadgen/echo/echo_server.hpp"
#include "loadgen/serve.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/options.hpp"
#include "simco/cli/transport_arguments.hpp"

namespace {

using namespace simco;

std::expected<net::ListenOptions, cli::UsageExit> parse_settings(int argc,
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

}  // namespace

int main(int argc, char** argv) {
  const auto settings = parse_settings(argc, argv);
  if (!settings) return cli::leave(settings.error());
  try {
    boost::asio::io_context io(1);
    const loadgen::EchoServer server(io, *settings);
    loadgen::serve(io, server.listening());
  } catch (const std::exception& failure) {
    cli::complain("simco-echo", failure.what());
    return 1;
  }
  return 0;
}
