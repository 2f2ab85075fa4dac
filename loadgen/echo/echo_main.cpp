// simco-echo: listens until told to stop.
#include <boost/asio/io_context.hpp>
#include <exception>

#include "loadgen/echo/echo_options.hpp"
#include "loadgen/echo/echo_server.hpp"
#include "loadgen/serve.hpp"

int main(int argc, char** argv) {
  const auto settings = simco::loadgen::parse_echo_settings(argc, argv);
  if (!settings) return simco::cli::leave(settings.error());
  try {
    boost::asio::io_context io(1);
    const simco::loadgen::EchoServer server(io, *settings);
    simco::loadgen::serve(io, server.listening());
  } catch (const std::exception& failure) {
    simco::cli::complain("simco-echo", failure.what());
    return 1;
  }
  return 0;
}
