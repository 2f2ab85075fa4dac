// simco-middlebox: parses the options, creates backend, store, metrics and server, and runs the
// event loop until a signal ends it. SIGHUP reloads the configuration; SIGUSR1 ends it where
// another box has taken this one's place.
#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/config/backends/table.hpp"
#include "middlebox/config/options.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/observe/metrics.hpp"
#include "middlebox/process/privileges.hpp"
#include "middlebox/process/service_manager.hpp"
#include "middlebox/serve/inspector.hpp"
#include "middlebox/serve/server.hpp"
#include "middlebox/store/store.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/http/server.hpp"
#include "simco/log/log.hpp"
#include "simco/metrics/page.hpp"

namespace {

using namespace simco;

/// Exit status if another middlebox has taken over the rules: a restart would take them back.
constexpr int kTakenOver = 3;
constexpr const char* kProgram = "simco-middlebox";

std::unique_ptr<store::Store> make_store(const middlebox::Settings& settings) {
  if (settings.state.empty()) return nullptr;
  using store::Sync;
  auto made =
      store::make_store(settings.state, settings.state_on_disk ? Sync::kDisk : Sync::kSystem);
  if (!made) throw std::runtime_error("--state: " + made.error());
  log::info("storing rules in {}", (*made)->place());
  return std::move(*made);
}

/// True if the rules in the store are another box's, whose Redis is the primary, and who could not
/// tell this one of its changes; if the store does not answer, `otherwise`.
bool is_second_box(const middlebox::Settings& settings, bool otherwise) {
  if (settings.state.empty()) return false;
  try {
    const auto store = store::make_store(settings.state, store::Sync::kSystem);
    return store && (*store)->is_copy();
  } catch (const store::StoreError&) {
    return otherwise;
  }
}

/// Raises the limit of file descriptors to the maximum, because many agents need many of them.
void raise_descriptor_limit(middlebox::ServerOptions& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  middlebox::share_descriptors(options, limit.rlim_max);
}

/// The new handler of all threads. A report by exception would need memory. The table stays, as
/// after a kill.
void leave_without_memory() {
  constexpr std::string_view kText =
      "simco-middlebox: out of memory: stopping; the kernel keeps the rules until they end. "
      "Raise the limit of memory (ulimit -v, MemoryMax=) and start again\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(1);
}

/// SIGHUP: applies agents, certificates and the log level of the current configuration file. A file
/// with a mistake changes nothing.
void reload(middlebox::Server& server, middlebox::Settings& settings,
            middlebox::ServiceManager& manager, int argc, char** argv) {
  manager.reloading();
  auto fresh = middlebox::parse_settings(argc, argv, middlebox::backend_table());
  if (!fresh) {
    const auto text = "configuration rejected; keeping the current one: " + fresh.error().text;
    log::error(text);
    return manager.ready(text);
  }
  for (const auto& [name, value] : fresh->options) {
    const bool taken = name == "log-level" || name.starts_with("tls-");
    if (!taken && settings.options[name] != value) {
      log::warn("--{} has changed: restart to apply it", name);
    }
  }
  log::set_level(fresh->log_level);
  server.set_tls(fresh->server.listen.tls);
  server.apply(std::move(fresh->server.directory), fresh->server.secret);
  log::info("configuration reloaded");
  manager.ready("configuration reloaded");
}

/// Where the identifiers of a middlebox without stored rules begin.
rule::IdPositions random_ids() {
  std::random_device random;
  const auto first = std::uniform_int_distribution(middlebox::kFirstIdMin)(random);
  return {first, first};
}

int run(middlebox::Settings& settings, int argc, char** argv) {
  // One thread and no resolver: the loop needs no locks.
  boost::asio::io_context io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  // Set up first: a signal during the start is kept and causes an orderly stop.
  boost::asio::signal_set signals(io, SIGTERM, SIGINT, SIGHUP);
  signals.add(SIGUSR1);
  const auto backend = settings.backend->make(io, settings);
  if (settings.remove_rules) {
    backend->clear();
    return 0;
  }
  std::optional<middlebox::Metrics> metrics;
  if (!settings.metrics.empty()) metrics.emplace();
  const auto store = make_store(settings);
  settings.server.first_ids = random_ids();
  middlebox::Server server(io, settings.server, *backend, metrics ? &*metrics : nullptr,
                           store.get());
  std::unique_ptr<http::Server> scraped;
  if (metrics) {
    scraped = metrics::serve(io, settings.metrics, "simco-middlebox " SIMCO_VERSION,
                             [&] { return metrics->text(backend->figures()); });
    log::info("serving metrics at http://{}/metrics", settings.metrics);
  }
  std::optional<http::Server> inspected;
  if (!settings.inspect.empty()) {
    inspected.emplace(io, settings.inspect, "--inspect",
                      middlebox::inspector([&](auto pids) { return server.count(pids); }));
    log::info("serving rule counters at http://{}/rules/PID", settings.inspect);
  }
  // Nothing else can fail: replace the kernel's table.
  server.start();
  // A box that stands by listens later.
  std::vector<int> kept(settings.capabilities.begin(), settings.capabilities.end());
  if (server.stands_by()) kept.insert(kept.end(), {CAP_NET_BIND_SERVICE, CAP_NET_RAW});
  middlebox::drop_privileges(kept);
  middlebox::ServiceManager manager(io);
  server.on_serving([&] {
    middlebox::drop_privileges(settings.capabilities);
    manager.ready("serving");
  });
  const auto is_paired = [&] { return server.stands_by() || (store && store->is_shared()); };
  bool stops = false;
  std::function<void(const boost::system::error_code&, int)> on_signal =
      [&](const boost::system::error_code& error, int signal) {
        if (error) return;
        signals.async_wait(on_signal);
        if (signal == SIGHUP) return reload(server, settings, manager, argc, argv);
        // Otherwise the table stays.
        if (signal == SIGUSR1 || is_second_box(settings, is_paired())) server.lose_place();
        if (std::exchange(stops, true)) return;
        log::info("stopping: {} sessions, {} rules", server.session_count(), server.rule_count());
        manager.stopping();
        server.stop([&io] { io.stop(); });
      };
  signals.async_wait(on_signal);
  int code = 0;
  server.on_taken([&] {
    log::error("another middlebox has taken over the rules: stopping");
    // A restart finds out what the store is now; otherwise it would take the rules back.
    code = is_second_box(settings, true) ? 1 : kTakenOver;
    manager.stopping();
    server.stop([&io] { io.stop(); });
  });
  manager.ready(server.stands_by() ? "standing by" : "serving");
  manager.watch([&backend] { return backend->alive(); });
  io.run();
  // Not after an exception: the table must stay and keep blocking traffic.
  backend->end();
  return code;
}

/// --check, with the rights of the service. Returns the findings.
std::optional<std::string> become_service(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (std::ranges::find(words, "--check") == words.end() || ::geteuid() != 0) return std::nullopt;
  std::string user;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string option = "--check-user";
    if (words[i] == option && i + 1 < words.size()) user = words[i + 1];
    if (words[i].starts_with(option + "=")) user = words[i].substr(option.size() + 1);
  }
  if (user.empty()) user = middlebox::service_user();
  if (user.empty() || user == "root") return std::nullopt;
  cli::complain(kProgram, "checking as the user " + user);
  return middlebox::become(user);
}

/// Prints the findings of --check. Returns the exit status.
int report_findings(const middlebox::Settings& settings) {
  bool good = true;
  for (const auto& [is_error, text] : middlebox::examine(settings)) {
    good = good && !is_error;
    cli::complain(kProgram, (is_error ? "error: " : "warning: ") + text);
  }
  if (!good) return cli::kWrongUsage;
  std::puts("simco-middlebox: configuration OK");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto fault = become_service(argc, argv)) {
    simco::cli::complain(kProgram, "--check-user: " + *fault);
    return simco::cli::kWrongUsage;
  }
  auto settings = simco::middlebox::parse_settings(argc, argv, simco::middlebox::backend_table());
  if (!settings) return simco::cli::leave(settings.error());
  if (settings->check_only) return report_findings(*settings);
  std::signal(SIGPIPE, SIG_IGN);
  std::set_new_handler(leave_without_memory);
  simco::log::set_up(settings->log_level, [] { simco::middlebox::drop_privileges(); });
  raise_descriptor_limit(settings->server);
  try {
    const int code = run(*settings, argc, argv);
    simco::log::shut_down({});
    return code;
  } catch (const std::exception& failure) {
    simco::log::shut_down(kProgram + std::string(": ") + failure.what());
    return 1;
  }
}
