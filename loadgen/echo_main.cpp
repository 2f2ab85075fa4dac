// simco-echo: listens until told to stop.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/system/system_error.hpp>
#include <cstdio>

#include "loadgen/echo_server.hpp"
#include "loadgen/options.hpp"

int main(int argc, char** argv) {
  const auto settings = simco::loadgen::parse_echo_settings(argc, argv);
  if (!settings) {
    const auto& [text, code] = settings.error();
    std::fputs(text.c_str(), code == 0 ? stdout : stderr);
    return code;
  }
  try {
    boost::asio::io_context io(1);
    const simco::loadgen::EchoServer server(io, settings->listen, settings->port);
    boost::asio::signal_set signals(io, SIGTERM, SIGINT);
    signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
    const auto ports = server.ports();
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const bool v6 = settings->listen[i].find(':') != std::string::npos;
      fmt::print(stderr, "listening on tcp {}{}{}:{}\n", v6 ? "[" : "", settings->listen[i],
                 v6 ? "]" : "", ports[i]);
    }
    io.run();
  } catch (const boost::system::system_error& failure) {
    fmt::print(stderr, "simco-echo: cannot listen on port {}: {}\n", settings->port,
               failure.code().message());
    return 1;
  }
  return 0;
}
