// simco-cross: runs until told to stop.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <exception>

#include "loadgen/cross/journal.hpp"
#include "loadgen/cross/options.hpp"
#include "loadgen/cross/traffic.hpp"

int main(int argc, char** argv) {
  const auto settings = simco::cross::parse_settings(argc, argv);
  if (!settings) return simco::cli::leave(settings.error());
  try {
    simco::cross::Journal journal;
    boost::asio::io_context io(1);
    boost::asio::signal_set signals(io, SIGTERM, SIGINT);
    signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
    boost::asio::co_spawn(io, journal.run(), boost::asio::detached);
    simco::cross::start(io, journal, *settings);
    io.run();
    journal.finish();
  } catch (const std::exception& failure) {
    simco::cli::complain("simco-cross", failure.what());
    return 1;
  }
  return 0;
}
