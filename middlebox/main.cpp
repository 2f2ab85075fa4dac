// simco-middlebox: parses the options, creates backend, store, metrics and server, and runs the
// event loop until a signal ends it. SIGHUP reloads the configuration. Only this file names a
// concrete backend.
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>

#include "middlebox/backend/nftables/nftables_backend.hpp"
#include "middlebox/backend/null_backend.hpp"
#include "middlebox/config/options.hpp"
#include "middlebox/observe/log.hpp"
#include "middlebox/observe/metrics.hpp"
#include "middlebox/process/privileges.hpp"
#include "middlebox/process/service_manager.hpp"
#include "middlebox/serve/server.hpp"
#include "middlebox/store/make_store.hpp"

namespace {

using namespace simco;

/// Exit status if another middlebox has taken over the rules: a restart would take them back.
constexpr int kTakenOver = 3;

backend::nftables::Options nftables_options(const middlebox::Settings& settings) {
  const auto& router = settings.router;
  const auto& nat = settings.server.nat;
  backend::nftables::Options options;
  options.table = router.table;
  options.own_table = router.own_table;
  options.internal_if = router.internal_if;
  options.external_if = router.external_if;
  options.allow_outbound = router.allow_outbound;
  options.claim_table = router.claim_table;
  options.keep_on_stop = router.keep_rules;
  options.nat = nat.mode != policy::Mode::kFirewall;
  const auto pool_of = [](const policy::AddressRange& range) {
    return backend::nftables::Pool{range.first, policy::advance(range.first, range.count - 1)};
  };
  for (const auto& range : nat.outside) options.outside_pool.push_back(pool_of(range));
  for (const auto& range : nat.inside) options.inside_pool.push_back(pool_of(range));
  options.first_port = nat.first_port;
  options.last_port = nat.last_port;
  return options;
}

/// Warns if IP forwarding is disabled, a common mistake.
void warn_unless_forwarding() {
  for (const char* path :
       {"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"}) {
    std::FILE* file = std::fopen(path, "r");
    if (file == nullptr) continue;
    if (std::fgetc(file) == '0') spdlog::warn("{} is 0: the kernel forwards no packets", path);
    std::fclose(file);
  }
}

std::unique_ptr<backend::Backend> make_backend(boost::asio::io_context& io,
                                               const middlebox::Settings& settings) {
  if (settings.backend == "nftables") {
    auto backend =
        std::make_unique<backend::nftables::NftablesBackend>(io, nftables_options(settings));
    warn_unless_forwarding();
    spdlog::info("backend nftables: table inet {}, internal {}, external {}", settings.router.table,
                 settings.router.internal_if, settings.router.external_if);
    return backend;
  }
  spdlog::warn("backend null: rules are not enforced; no traffic is filtered or translated");
  return std::make_unique<backend::NullBackend>();
}

std::unique_ptr<store::Store> make_store(const middlebox::Settings& settings) {
  if (settings.state.empty()) return nullptr;
  using Sync = store::SqliteStore::Sync;
  auto made =
      store::make_store(settings.state, settings.state_on_disk ? Sync::kDisk : Sync::kSystem);
  if (!made) throw std::runtime_error("--state: " + made.error());
  spdlog::info("storing rules in {}", (*made)->place());
  return std::move(*made);
}

/// Raises the limit of file descriptors to the maximum, because many agents need many of them.
void raise_descriptor_limit(middlebox::ServerOptions& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  middlebox::share_descriptors(options, limit.rlim_max);
}

/// SIGHUP: applies agents, certificates and the log level of the current configuration file. A file
/// with a mistake changes nothing.
void reload(middlebox::Server& server, middlebox::Settings& settings,
            middlebox::ServiceManager& manager, int argc, char** argv) {
  manager.reloading();
  auto fresh = middlebox::parse_settings(argc, argv);
  if (!fresh) {
    auto text = fresh.error().text;
    while (text.ends_with('\n')) text.pop_back();
    spdlog::error("configuration rejected; keeping the current one: {}", text);
    return manager.ready("configuration rejected; keeping the current one: " + text);
  }
  for (const auto& [name, value] : fresh->options) {
    const bool taken = name == "log-level" || name.starts_with("tls-");
    if (!taken && settings.options[name] != value) {
      spdlog::warn("--{} has changed: restart to apply it", name);
    }
  }
  spdlog::set_level(spdlog::level::from_str(fresh->log_level));
  server.set_tls(fresh->server.listen.tls);
  server.apply(std::move(fresh->server.directory), fresh->server.secret);
  spdlog::info("configuration reloaded");
  manager.ready("configuration reloaded");
}

int run(middlebox::Settings& settings, int argc, char** argv) {
  // One thread and no resolver: the loop needs no locks.
  boost::asio::io_context io(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
  // Set up first: a signal during the start is kept and causes an orderly stop.
  boost::asio::signal_set signals(io, SIGTERM, SIGINT, SIGHUP);
  const auto backend = make_backend(io, settings);
  std::optional<middlebox::Metrics> metrics;
  if (!settings.metrics.empty()) metrics.emplace();
  const auto store = make_store(settings);
  middlebox::Server server(io, settings.server, *backend, metrics ? &*metrics : nullptr,
                           store.get());
  if (metrics) {
    middlebox::run_without_privileges([&] { metrics->serve(settings.metrics); });
    spdlog::info("serving metrics at http://{}/metrics", settings.metrics);
  }
  // Nothing else can fail: replace the kernel's table.
  server.start();
  middlebox::drop_privileges(settings.backend == "nftables");
  middlebox::ServiceManager manager(io);
  std::function<void(const boost::system::error_code&, int)> on_signal =
      [&](const boost::system::error_code& error, int signal) {
        if (error) return;
        if (signal == SIGHUP) {
          reload(server, settings, manager, argc, argv);
          return signals.async_wait(on_signal);
        }
        spdlog::info("stopping: {} sessions, {} rules", server.session_count(),
                     server.rule_count());
        manager.stopping();
        server.stop([&io] { io.stop(); });
      };
  signals.async_wait(on_signal);
  int code = 0;
  server.on_taken([&] {
    spdlog::error("another middlebox has taken over the rules: stopping");
    code = kTakenOver;
    manager.stopping();
    server.stop([&io] { io.stop(); });
  });
  manager.ready("serving");
  manager.watch([&backend] { return backend->alive(); });
  io.run();
  // Not after an exception: the table must stay and keep blocking traffic.
  backend->end();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  auto settings = simco::middlebox::parse_settings(argc, argv);
  if (!settings) {
    const auto& [text, code] = settings.error();
    std::fputs(text.c_str(), code == 0 ? stdout : stderr);
    return code;
  }
  if (settings->check_only) {
    std::puts("simco-middlebox: configuration OK");
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);
  simco::middlebox::set_up_log(settings->log_level);
  raise_descriptor_limit(settings->server);
  try {
    const int code = run(*settings, argc, argv);
    simco::middlebox::shut_down_log({});
    return code;
  } catch (const std::exception& failure) {
    simco::middlebox::shut_down_log(std::string("simco-middlebox: ") + failure.what());
    return 1;
  }
}
