#include "loadgen/serve.hpp"

#include <fmt/format.h>

#include <boost/asio/signal_set.hpp>
#include <cstdio>

namespace simco::loadgen {

void serve(boost::asio::io_context& io, const net::Listening& listening) {
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  for (const auto& note : listening.notes) fmt::print(stderr, "{}\n", note);
  for (const auto& warning : listening.warnings) fmt::print(stderr, "{}\n", warning);
  for (const auto& listener : listening.listeners) {
    for (const auto& endpoint : listener->endpoints()) {
      fmt::print(stderr, "listening on {} {}\n", to_string(listener->transport()), endpoint);
    }
  }
  io.run();
}

}  // namespace simco::loadgen
