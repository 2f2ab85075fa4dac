// simco-echo: listens until told to stop.
#include <boost/asio/io_context.hpp>
#include <exception>

#include "loadgen/echo/echo_options.hpp"
#include "loadgen/echo/echo_server.hpp"
#include "loadgen/serve.hpp"

int main(int argc, char** argv) {
  using namespace simco;
  const auto settings = loadgen::parse_echo_settings(argc, argv);
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
