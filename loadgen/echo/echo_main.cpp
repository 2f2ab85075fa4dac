// simco-echo: listens until told to stop.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <exception>

#include "loadgen/echo/echo_options.hpp"
#include "loadgen/echo/echo_server.hpp"

int main(int argc, char** argv) {
  const auto settings = simco::loadgen::parse_echo_settings(argc, argv);
  if (!settings) {
    const auto& [text, code] = settings.error();
    std::fputs(text.c_str(), code == 0 ? stdout : stderr);
    return code;
  }
  try {
    boost::asio::io_context io(1);
    const simco::loadgen::EchoServer server(io, *settings);
    boost::asio::signal_set signals(io, SIGTERM, SIGINT);
    signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
    const auto& listening = server.listening();
    for (const auto& note : listening.notes) fmt::print(stderr, "{}\n", note);
    for (const auto& warning : listening.warnings) fmt::print(stderr, "{}\n", warning);
    for (const auto& listener : listening.listeners) {
      for (const auto& endpoint : listener->endpoints()) {
        fmt::print(stderr, "listening on {} {}\n", to_string(listener->transport()), endpoint);
      }
    }
    io.run();
  } catch (const std::exception& failure) {
    fmt::print(stderr, "simco-echo: {}\n", failure.what());
    return 1;
  }
  return 0;
}
