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
using Json = nlohmann::ordered_json;

constexpr const char* kTransactions = "simco_transactions_total";

std::string duration(double ms) {
  if (ms < 1) return fmt::format("{:.1f} us", ms * 1e3);
  if (ms < 1e3) return fmt::format("{:.2f} ms", ms);
  return fmt::format("{:.2f} s", ms / 1e3);
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

/// Returns what a refusal's code, such as "0x0341", means.
std::string_view meaning(const std::string& reply) {
  const auto number = std::strtoul(reply.c_str(), nullptr, 16) & 0xFF;
  const auto code = negative_reply_code(static_cast<std::uint8_t>(number));
  return code ? to_string(*code) : "";
}

/// Rates between two readings.
struct Readings {
  const Exposition& before;
  const Exposition& now;
  double seconds;

  double rate(const std::string& name,
              const std::map<std::string, std::string>& labels = {}) const {
    return (now.sum(name, labels) - before.sum(name, labels)) / seconds;
  }
};

Json transactions(const Readings& readings) {
  Json result = Json::object();
  for (const char* type : {"PRR", "PER", "PEA", "PDR", "PLC", "PRS", "PRL"}) {
    const double all = readings.rate(kTransactions, {{"type", type}});
    const double good = readings.rate(kTransactions, {{"type", type}, {"reply", "ok"}});
    result[type] = {{"per_s", all}, {"refused_per_s", all - good}};
  }
  return result;
}

/// The reasons of refusals, if there were any since the start of the middlebox.
Json refusals(const Readings& readings) {
  std::map<std::string, double> totals;
  for (const auto& sample : readings.now.all(kTransactions)) {
    const auto reply = sample.label("reply");
    if (reply != "ok" && sample.value != 0) totals[reply] += sample.value;
  }
  Json result = Json::object();
  for (const auto& [reply, total] : totals) {
    result[reply] = {{"per_s", readings.rate(kTransactions, {{"reply", reply}})}, {"total", total}};
  }
  return result;
}

Json phases(const Readings& readings) {
  Json result = Json::object();
  for (const char* phase : {"decide", "queue", "store", "kernel", "reply"}) {
    const Distribution times(readings.before, readings.now, "simco_transaction_seconds",
                             {{"phase", phase}});
    if (times.count() == 0) continue;
    result[phase] = {{"mean_ms", times.mean() * 1e3},
                     {"p50_ms", times.quantile(0.5) * 1e3},
                     {"p99_ms", times.quantile(0.99) * 1e3}};
  }
  return result;
}

Json pools(const Exposition& now) {
  Json result = Json::object();
  for (const auto& sample : now.all("simco_pool_addresses")) {
    if (sample.value == 0) continue;
    result[sample.label("pool") + " IPv" + sample.label("ip")] = {
        {"addresses", sample.value},
        {"addresses_in_use", now.sum("simco_pool_addresses_in_use", sample.labels)},
        {"ports_in_use", now.sum("simco_pool_ports_in_use", sample.labels)}};
  }
  return result;
}

}  // namespace

Json compare(const Exposition& before, const Exposition& now, double seconds) {
  const Readings readings{before, now, seconds};
  std::string version;
  for (const auto& sample : now.all("simco_build_info")) version = sample.label("version");
  const auto rules = [&](const char* state) { return now.sum("simco_rules", {{"state", state}}); };
  const auto changes = [&](const char* result) {
    return readings.rate("simco_backend_changes_total", {{"result", result}});
  };
  const Distribution batches(before, now, "simco_batch_changes");
  return {{"version", version},
          {"sessions", now.sum("simco_sessions")},
          {"connections", now.sum("simco_connections")},
          {"groups", now.sum("simco_groups")},
          {"rules",
           {{"enabled", rules("enabled")},
            {"reserved", rules("reserved")},
            {"disable", rules("disable")}}},
          {"transactions", transactions(readings)},
          {"phases", phases(readings)},
          {"batch_changes", {{"mean", batches.mean()}, {"p99", batches.quantile(0.99)}}},
          {"expired_per_s", readings.rate("simco_expirations_total")},
          {"backend_refused_per_s", changes("refused")},
          {"backend_no_resources_per_s", changes("no-resources")},
          {"sessions_refused_per_s", readings.rate("simco_sessions_refused_total")},
          {"authentication_failures_per_s", readings.rate("simco_authentication_failures_total")},
          {"store_failures", now.sum("simco_store_failures_total")},
          {"pools", pools(now)},
          {"refusals", refusals(readings)}};
}

std::string to_text(const Json& view) {
  const auto number = [](const Json& in, const char* name) { return in.at(name).get<double>(); };
  const auto& rules = view.at("rules");
  std::string text = fmt::format(
      "sessions {:.0f}   connections {:.0f}   groups {:.0f}   rules: {:.0f} enabled, {:.0f} "
      "reserved, {:.0f} disable\n\n{:<14}{:>12}{:>14}\n",
      number(view, "sessions"), number(view, "connections"), number(view, "groups"),
      number(rules, "enabled"), number(rules, "reserved"), number(rules, "disable"), "transactions",
      "per second", "refused");
  for (const auto& [type, rates] : view.at("transactions").items()) {
    if (number(rates, "per_s") == 0 && type != "PER") continue;
    text += fmt::format("{:<14}{:>12.1f}{:>14.1f}\n", type, number(rates, "per_s"),
                        number(rates, "refused_per_s"));
  }
  for (const auto& [reply, refusal] : view.at("refusals").items()) {
    text += fmt::format("  {:<12}{:>12}{:>14.1f}  {:.0f} in all: {}\n", reply, "",
                        number(refusal, "per_s"), number(refusal, "total"), meaning(reply));
  }
  text += fmt::format("\n{:<14}{:>12}{:>14}{:>14}\n", "phase", "mean", "p50", "p99");
  for (const auto& [name, phase] : view.at("phases").items()) {
    text += fmt::format("{:<14}{:>12}{:>14}{:>14}\n", name, duration(number(phase, "mean_ms")),
                        duration(number(phase, "p50_ms")), duration(number(phase, "p99_ms")));
  }
  const auto& batches = view.at("batch_changes");
  text += fmt::format(
      "\nbatches: {}   expired {:.1f}/s   backend: refused {:.1f}/s, no "
      "resources {:.1f}/s\nsessions refused {:.1f}/s   authentication failures {:.1f}/s   store "
      "failures {:.0f} total\n",
      number(batches, "mean") == 0 ? std::string("none")
                                   : fmt::format("{:.1f} changes (p99 {:.0f})",
                                                 number(batches, "mean"), number(batches, "p99")),
      number(view, "expired_per_s"), number(view, "backend_refused_per_s"),
      number(view, "backend_no_resources_per_s"), number(view, "sessions_refused_per_s"),
      number(view, "authentication_failures_per_s"), number(view, "store_failures"));
  if (view.at("pools").empty()) return text;
  text += fmt::format("\n{:<14}{:>12}{:>14}{:>14}\n", "pool", "addresses", "in use", "ports");
  for (const auto& [name, pool] : view.at("pools").items()) {
    text += fmt::format("{:<14}{:>12.0f}{:>14.0f}{:>14.0f}\n", name, number(pool, "addresses"),
                        number(pool, "addresses_in_use"), number(pool, "ports_in_use"));
  }
  return text;
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
        fmt::print("{}\n", view.dump());
      } else {
        // The text above the first update stays.
        fmt::print("{}simco-middlebox {} at {}, every {} ms\n{}{}",
                   terminal && shown != 0 ? "\033[H\033[2J" : "",
                   view.at("version").get<std::string>(), where, top.interval.count(),
                   to_text(view), terminal ? "" : "\n");
      }
      std::fflush(stdout);
    }
    return 0;
  } catch (const std::exception& failure) {
    return complain(where, failure.what());
  }
}

}  // namespace simco::ctl
