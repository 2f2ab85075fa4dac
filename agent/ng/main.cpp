// simco-ng: parses the options, and runs the event loop until a signal ends it. SIGHUP reloads the
// configuration.

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>

#include "agent/ng/serve/metrics.hpp"
#include "agent/ng/serve/options.hpp"
#include "agent/ng/serve/server.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/log/log.hpp"
#include "simco/metrics/page.hpp"

namespace {

using namespace simco;

/// Options that a reload applies.
bool can_reload(const std::string& name) {
  for (const char* option : {"log-level", "internal", "allow-from", "strict-source", "lifetime",
                             "max-duration", "media-timeout", "max-calls"}) {
    if (name == option) return true;
  }
  return false;
}

/// SIGHUP. A file with a mistake changes nothing.
void reload(ng::Server& server, const ng::Settings& settings, int argc, char** argv) {
  const auto fresh = ng::parse_settings(argc, argv);
  if (!fresh) {
    return log::error("configuration rejected; keeping the current one: {}", fresh.error().text);
  }
  for (const auto& [name, value] : fresh->options) {
    const auto before = settings.options.find(name);
    if (!can_reload(name) && before != settings.options.end() && before->second != value) {
      log::warn("--{} has changed: restart to apply it", name);
    }
  }
  log::set_level(fresh->log_level);
  server.apply(*fresh);
  log::info("configuration reloaded");
}

void run(const ng::Settings& settings, int argc, char** argv) {
  boost::asio::io_context io;
  boost::asio::signal_set signals(io, SIGTERM, SIGINT, SIGHUP);
  ng::Metrics metrics;
  std::unique_ptr<http::Server> page;
  if (!settings.metrics.empty()) {
    page = simco::metrics::serve(io, settings.metrics, "simco-ng " SIMCO_VERSION,
                                 [&] { return metrics.registry.text(); });
    log::info("serving metrics at http://{}/metrics", settings.metrics);
  }
  ng::Server server(io, settings, metrics);
  std::function<void(const boost::system::error_code&, int)> on_signal =
      [&](const boost::system::error_code& error, int signal) {
        if (error) return;
        if (signal == SIGHUP) {
          reload(server, settings, argc, argv);
          return signals.async_wait(on_signal);
        }
        log::info("stopping: {} calls, {} rules, which end with their lifetimes",
                  server.call_count(), server.rule_count());
        server.stop([&io] { io.stop(); });
      };
  signals.async_wait(on_signal);
  if (!settings.calls.media.strict_source) {
    log::warn(
        "an SDP may open any UDP port from {} on of any internal host to its peer: give "
        "--strict-source, or list internal-ports for this agent at the middlebox",
        ng::kInternalPortMin);
  }
  server.start();
  log::info("listening on udp {}", server.endpoint());
  io.run();
}

}  // namespace

int main(int argc, char** argv) {
  const auto settings = simco::ng::parse_settings(argc, argv);
  if (!settings) return simco::cli::leave(settings.error());
  if (settings->check_only) {
    std::puts("simco-ng: configuration OK");
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);
  simco::log::set_up(settings->log_level, {});
  try {
    run(*settings, argc, argv);
    simco::log::shut_down({});
    return 0;
  } catch (const std::exception& failure) {
    simco::log::shut_down(std::string("simco-ng: ") + failure.what());
    return 1;
  }
}
