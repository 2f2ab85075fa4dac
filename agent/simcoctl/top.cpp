// Reads the metrics at intervals, computes rates and quantiles from pairs of readings, and prints
// them as a table or as JSON.
#include "agent/simcoctl/top.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "agent/simcoctl/limits.hpp"
#include "simco/http/client.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::ctl {
namespace {

using Clock = std::chrono::steady_clock;

std::string duration(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

/// Says that the metrics cannot be read. Returns the exit status.
int complain(const std::string& where, const std::string& why) {
  fmt::print(stderr,
             "simcoctl: cannot read the metrics at http://{}/metrics: {}; is simco-middlebox "
             "running with --metrics {}?\n",
             where, why, where);
  return 1;
}

Exposition read_metrics(const net::HostPort& from) {
  const auto text = http::get(from, "/metrics", {kHttpPatience, kHttpAnswerMax});
  if (!text) throw std::runtime_error(text.error());
  return Exposition(*text);
}

void add_pools(const Exposition& now, View& view) {
  for (const auto& sample : now.all("simco_pool_addresses")) {
    if (sample.value == 0) continue;
    view.pools.push_back({sample.label("pool") + " IPv" + sample.label("ip"), sample.value,
                          now.sum("simco_pool_addresses_in_use", sample.labels),
                          now.sum("simco_pool_ports_in_use", sample.labels)});
  }
}

/// The reasons of refusals, if any.
void add_refusals(const Exposition& before, const Exposition& now, double seconds, View& view) {
  std::map<std::string, View::Refusals> by_reply;
  for (const auto& sample : now.all("simco_transactions_total")) {
    const auto reply = sample.label("reply");
    if (reply == "ok" || sample.value == 0) continue;
    auto& one = by_reply[reply];
    one.total += sample.value;
    one.per_s += (sample.value - before.sum("simco_transactions_total", sample.labels)) / seconds;
  }
  for (auto& [reply, one] : by_reply) {
    const auto number = std::strtoul(reply.c_str(), nullptr, 16) & 0xFF;
    const auto code = negative_reply_code(static_cast<std::uint8_t>(number));
    one.reply = reply;
    one.words = code ? to_string(*code) : "";
    view.refusals.push_back(one);
  }
}

}  // namespace

View compare(const Exposition& before, const Exposition& now, double seconds) {
  const auto rate = [&](const char* name, const std::map<std::string, std::string>& labels = {}) {
    return (now.sum(name, labels) - before.sum(name, labels)) / seconds;
  };
  View view;
  for (const auto& sample : now.all("simco_build_info")) view.version = sample.label("version");
  view.connections = now.sum("simco_connections");
  view.sessions = now.sum("simco_sessions");
  view.groups = now.sum("simco_groups");
  view.reserved = now.sum("simco_rules", {{"state", "reserved"}});
  view.enabled = now.sum("simco_rules", {{"state", "enabled"}});
  view.disable = now.sum("simco_rules", {{"state", "disable"}});
  constexpr const char* kTransactions = "simco_transactions_total";
  for (const char* type : {"PRR", "PER", "PEA", "PDR", "PLC", "PRS", "PRL"}) {
    const double all = rate(kTransactions, {{"type", type}});
    view.transactions.push_back(
        {type, all, all - rate(kTransactions, {{"type", type}, {"reply", "ok"}})});
  }
  add_refusals(before, now, seconds, view);
  for (const char* phase : {"decide", "queue", "store", "kernel", "reply"}) {
    const Distribution times(before, now, "simco_transaction_seconds", {{"phase", phase}});
    if (times.count() == 0) continue;
    view.phases.push_back({phase, times.mean(), times.quantile(0.5), times.quantile(0.99)});
  }
  const Distribution batches(before, now, "simco_batch_changes");
  view.batch_mean = batches.mean();
  view.batch_p99 = batches.quantile(0.99);
  view.expired_per_s = rate("simco_expirations_total");
  constexpr const char* kChanges = "simco_backend_changes_total";
  view.backend_refused_per_s = rate(kChanges, {{"result", "refused"}});
  view.backend_no_resources_per_s = rate(kChanges, {{"result", "no-resources"}});
  view.authentication_failures_per_s = rate("simco_authentication_failures_total");
  view.sessions_refused_per_s = rate("simco_sessions_refused_total");
  view.store_failures = now.sum("simco_store_failures_total");
  add_pools(now, view);
  return view;
}

std::string to_text(const View& view) {
  std::string text = fmt::format(
      "sessions {:.0f}   connections {:.0f}   groups {:.0f}   rules: {:.0f} enabled, {:.0f} "
      "reserved, {:.0f} disable\n\n{:<14}{:>12}{:>14}\n",
      view.sessions, view.connections, view.groups, view.enabled, view.reserved, view.disable,
      "transactions", "per second", "refused");
  for (const auto& one : view.transactions) {
    if (one.per_s == 0 && one.type != "PER") continue;
    text += fmt::format("{:<14}{:>12.1f}{:>14.1f}\n", one.type, one.per_s, one.refused_per_s);
  }
  for (const auto& refusal : view.refusals) {
    text += fmt::format("  {:<12}{:>12}{:>14.1f}  {:.0f} in all: {}\n", refusal.reply, "",
                        refusal.per_s, refusal.total, refusal.words);
  }
  text += fmt::format("\n{:<14}{:>12}{:>14}{:>14}\n", "phase", "mean", "p50", "p99");
  for (const auto& phase : view.phases) {
    text += fmt::format("{:<14}{:>12}{:>14}{:>14}\n", phase.name, duration(phase.mean_s),
                        duration(phase.p50_s), duration(phase.p99_s));
  }
  text += fmt::format(
      "\nbatches: {}   expired {:.1f}/s   backend: refused {:.1f}/s, no "
      "resources {:.1f}/s\nsessions refused {:.1f}/s   authentication failures {:.1f}/s   store "
      "failures {:.0f} total\n",
      view.batch_mean == 0
          ? std::string("none")
          : fmt::format("{:.1f} changes (p99 {:.0f})", view.batch_mean, view.batch_p99),
      view.expired_per_s, view.backend_refused_per_s, view.backend_no_resources_per_s,
      view.sessions_refused_per_s, view.authentication_failures_per_s, view.store_failures);
  if (view.pools.empty()) return text;
  text += fmt::format("\n{:<14}{:>12}{:>14}{:>14}\n", "pool", "addresses", "in use", "ports");
  for (const auto& pool : view.pools) {
    text += fmt::format("{:<14}{:>12.0f}{:>14.0f}{:>14.0f}\n", pool.name, pool.addresses,
                        pool.addresses_in_use, pool.ports_in_use);
  }
  return text;
}

std::string to_json(const View& view) {
  nlohmann::ordered_json json = {
      {"version", view.version},
      {"sessions", view.sessions},
      {"connections", view.connections},
      {"groups", view.groups},
      {"rules",
       {{"enabled", view.enabled}, {"reserved", view.reserved}, {"disable", view.disable}}},
      {"transactions", nlohmann::ordered_json::object()},
      {"phases", nlohmann::ordered_json::object()},
      {"batch_changes", {{"mean", view.batch_mean}, {"p99", view.batch_p99}}},
      {"expired_per_s", view.expired_per_s},
      {"backend_refused_per_s", view.backend_refused_per_s},
      {"backend_no_resources_per_s", view.backend_no_resources_per_s},
      {"sessions_refused_per_s", view.sessions_refused_per_s},
      {"authentication_failures_per_s", view.authentication_failures_per_s},
      {"store_failures", view.store_failures},
      {"pools", nlohmann::ordered_json::object()}};
  for (const auto& one : view.transactions) {
    json["transactions"][one.type] = {{"per_s", one.per_s}, {"refused_per_s", one.refused_per_s}};
  }
  json["refusals"] = nlohmann::ordered_json::object();
  for (const auto& refusal : view.refusals) {
    json["refusals"][refusal.reply] = {{"per_s", refusal.per_s}, {"total", refusal.total}};
  }
  for (const auto& phase : view.phases) {
    json["phases"][phase.name] = {{"mean_ms", phase.mean_s * 1e3},
                                  {"p50_ms", phase.p50_s * 1e3},
                                  {"p99_ms", phase.p99_s * 1e3}};
  }
  for (const auto& pool : view.pools) {
    json["pools"][pool.name] = {{"addresses", pool.addresses},
                                {"addresses_in_use", pool.addresses_in_use},
                                {"ports_in_use", pool.ports_in_use}};
  }
  return json.dump() + "\n";
}

int run_top(const Top& top, bool json) {
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const auto where = fmt::format("{}:{}", top.metrics.host, top.metrics.port);
  try {
    auto read_at = Clock::now();
    std::optional before(read_metrics(top.metrics));
    if (!before->has("simco_build_info")) {
      throw std::runtime_error("not the metrics of a simco-middlebox");
    }
    for (std::uint64_t shown = 0; top.count == 0 || shown < top.count; ++shown) {
      std::this_thread::sleep_until(read_at + top.interval);
      const auto now_at = Clock::now();
      auto now = read_metrics(top.metrics);
      const auto view =
          compare(*before, now, std::chrono::duration<double>(now_at - read_at).count());
      read_at = now_at;
      before.emplace(std::move(now));
      if (json) {
        std::fputs(to_json(view).c_str(), stdout);
      } else {
        fmt::print("{}simco-middlebox {} at {}, every {} ms\n{}{}", terminal ? "\033[H\033[2J" : "",
                   view.version, where, top.interval.count(), to_text(view), terminal ? "" : "\n");
      }
      std::fflush(stdout);
    }
    return 0;
  } catch (const std::exception& failure) {
    return complain(where, failure.what());
  }
}

}  // namespace simco::ctl
