// Declares each metric with its description and labels, and counts. All time series exist from the
// start or are created from fixed label values.
#include "middlebox/observe/metrics.hpp"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <array>
#include <utility>

#include "simco/metrics/page.hpp"

namespace simco::middlebox {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
using rule::ChangeResult;
using rule::RuleChange;
using rule::RuleKind;

constexpr std::array<const char*, policy::kTransactions> kTransactionNames = {
    "PRR", "PER", "PEA", "PDR", "PLC", "PRS", "PRL"};
constexpr std::array<const char*, kPhases> kPhaseNames = {"decide", "queue", "store", "kernel",
                                                          "reply"};
/// RFC 4540 section 8.1: a PID is RESERVED or ENABLED; disable rules are told apart.
constexpr std::array<const char*, 3> kRuleStates = {"reserved", "enabled", "disable"};
constexpr std::array<const char*, 3> kResults = {"done", "refused", "no-resources"};
constexpr std::size_t kReplies = 256;  ///< low octets of 0x03NN; 0 stands for a positive reply

/// From 1 us, which a decision takes, to 1 s, which nothing should.
const Histogram::BucketBoundaries kSeconds = {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4,
                                              2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2,
                                              5e-2, 0.1,  0.2,  0.5,  1};
const Histogram::BucketBoundaries kBatch = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

std::size_t index(auto value) { return static_cast<std::size_t>(value); }

/// Appends `figures` to `families`, each name as one family.
void append(const backend::Figures& figures, std::vector<prometheus::MetricFamily>& families) {
  for (const auto& figure : figures) {
    if (families.empty() || families.back().name != figure.name) {
      families.push_back({figure.name, figure.help, prometheus::MetricType::Counter, {}});
    }
    auto& metric = families.back().metric.emplace_back();
    for (const auto& [name, value] : figure.labels) metric.label.push_back({name, value});
    metric.counter.value = static_cast<double>(figure.value);
  }
}

}  // namespace

struct Metrics::Figures {
  prometheus::Registry registry;

  Gauge& connections = gauge("simco_connections", "Open connections and associations.");
  Gauge& sessions = gauge("simco_sessions", "Open sessions.");
  Gauge& groups = gauge("simco_groups", "Groups of policy rules.");
  Counter& sessions_opened = counter("simco_sessions_opened_total", "Sessions opened.");
  Counter& authentication_failures =
      counter("simco_authentication_failures_total", "Authentication tokens rejected.");
  Counter& expirations =
      counter("simco_expirations_total", "Rules ended because their lifetime expired.");
  prometheus::Family<Counter>& sessions_refused = prometheus::BuildCounter()
                                                      .Name("simco_sessions_refused_total")
                                                      .Help("Sessions refused, by reply code.")
                                                      .Register(registry);
  prometheus::Family<Counter>& transactions =
      prometheus::BuildCounter()
          .Name("simco_transactions_total")
          .Help("Policy rule transactions answered, by type and reply (ok or the reply code).")
          .Register(registry);
  Histogram& batches = prometheus::BuildHistogram()
                           .Name("simco_batch_changes")
                           .Help("Rule changes per batch sent to the backend.")
                           .Register(registry)
                           .Add({}, kBatch);
  Counter& store_failures =
      counter("simco_store_failures_total", "Batches that could not be stored.");
  std::array<Gauge*, kRuleStates.size()> rules{};
  std::array<Counter*, kResults.size()> changes{};
  std::array<Histogram*, kPhases> phases{};
  std::array<Gauge*, 4> pool_addresses{};  ///< outside IPv4, IPv6, inside IPv4, IPv6
  std::array<Gauge*, 4> pool_used{};
  std::array<Gauge*, 4> pool_ports{};
  /// Made when first needed.
  std::array<std::array<Counter*, kReplies>, policy::kTransactions> replies{};
  std::array<Counter*, kReplies> refusals{};

  Figures() {
    fill(rules, "simco_rules", "Policy rules in force, by state.", "state", kRuleStates);
    fill_pools();
    auto& times = prometheus::BuildHistogram()
                      .Name("simco_transaction_seconds")
                      .Help("Time that policy rule transactions spend in the middlebox, by phase.")
                      .Register(registry);
    for (std::size_t i = 0; i < kPhases; ++i) {
      phases[i] = &times.Add({{"phase", kPhaseNames[i]}}, kSeconds);
    }
    fill(changes, "simco_backend_changes_total",
         "Rule changes requested from the backend, by result.", "result", kResults);
    prometheus::BuildGauge()
        .Name("simco_build_info")
        .Help("Version of the middlebox.")
        .Register(registry)
        .Add({{"version", SIMCO_VERSION}})
        .Set(1);
  }

  Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  Counter& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }
  template <std::size_t N>
  void fill(std::array<Gauge*, N>& gauges, const char* name, const char* help, const char* label,
            const std::array<const char*, N>& values) {
    auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(registry);
    for (std::size_t i = 0; i < N; ++i) gauges[i] = &family.Add({{label, values[i]}});
  }
  template <std::size_t N>
  void fill(std::array<Counter*, N>& counters, const char* name, const char* help,
            const char* label, const std::array<const char*, N>& values) {
    auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry);
    for (std::size_t i = 0; i < N; ++i) counters[i] = &family.Add({{label, values[i]}});
  }
  void fill_pools() {
    const auto add = [&](std::array<Gauge*, 4>& gauges, const char* name, const char* help) {
      auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(registry);
      for (std::size_t i = 0; i < 4; ++i) {
        const Labels labels{{"pool", i < 2 ? "outside" : "inside"}, {"ip", i % 2 ? "6" : "4"}};
        gauges[i] = &family.Add(labels);
      }
    };
    add(pool_addresses, "simco_pool_addresses", "Addresses in the NAT pool.");
    add(pool_used, "simco_pool_addresses_in_use", "Pool addresses with at least one port in use.");
    add(pool_ports, "simco_pool_ports_in_use", "Pool ports in use, all protocols.");
  }
};

Metrics::Metrics() : figures_(std::make_unique<Figures>()) {}
Metrics::~Metrics() = default;

void Metrics::set(const Levels& levels) {
  figures_->connections.Set(static_cast<double>(levels.connections));
  figures_->sessions.Set(static_cast<double>(levels.sessions));
  figures_->groups.Set(static_cast<double>(levels.groups));
  for (std::size_t i = 0; i < levels.nat.pools.size(); ++i) {
    const auto& pool = levels.nat.pools[i];
    figures_->pool_addresses[i]->Set(pool.addresses);
    figures_->pool_used[i]->Set(pool.addresses_in_use);
    figures_->pool_ports[i]->Set(static_cast<double>(pool.ports_in_use));
  }
}

void Metrics::session_opened() { figures_->sessions_opened.Increment(); }

void Metrics::session_refused(NegativeReplyCode code) {
  auto*& counter = figures_->refusals[index(code)];
  if (counter == nullptr) {
    counter = &figures_->sessions_refused.Add({{"code", fmt::format("0x03{:02x}", index(code))}});
  }
  counter->Increment();
}

void Metrics::authentication_failed() { figures_->authentication_failures.Increment(); }

void Metrics::took(Phase phase, Clock::duration time, std::size_t count) {
  const double seconds = std::chrono::duration<double>(time).count();
  for (std::size_t i = 0; i < count; ++i) figures_->phases[index(phase)]->Observe(seconds);
}

void Metrics::batch_took(Clock::duration time, std::size_t count) {
  const auto store_time = std::min(std::exchange(store_time_, {}), time);
  if (store_time.count() != 0) took(Phase::kStore, store_time, count);
  took(Phase::kKernel, time - store_time, count);
}

void Metrics::stored(Clock::duration time, bool kept) {
  store_time_ += time;
  if (!kept) figures_->store_failures.Increment();
}

void Metrics::restored(RuleKind kind) { figures_->rules[index(kind)]->Increment(); }

void Metrics::batch(std::size_t changes) {
  store_time_ = {};  // what was written between batches held up none of them
  figures_->batches.Observe(static_cast<double>(changes));
}

void Metrics::decided(const rule::Decision& decision) {
  figures_->changes[index(decision.result)]->Increment();
  if (decision.result != ChangeResult::kDone) return;
  auto& rules = figures_->rules;
  switch (decision.change.kind) {
    case RuleChange::Kind::kAdd: return rules[index(decision.change.rule().kind)]->Increment();
    case RuleChange::Kind::kReplace:
      rules[index(RuleKind::kReserve)]->Decrement();
      return rules[index(RuleKind::kEnable)]->Increment();
    case RuleChange::Kind::kSetLifetime: return;
    case RuleChange::Kind::kRemove:
      rules[index(decision.change.rule().kind)]->Decrement();
      if (decision.by.empty() && decision.ended_by == PolicyRuleId{}) {
        figures_->expirations.Increment();
      }
      return;
  }
}

void Metrics::replied(policy::Transaction transaction, const Body& reply) {
  const auto* negative = std::get_if<NegativeReply>(&reply);
  const std::size_t code = negative == nullptr ? 0 : index(negative->code);
  auto*& counter = figures_->replies[index(transaction)][code];
  if (counter == nullptr) {
    counter = &figures_->transactions.Add(
        {{"type", kTransactionNames[index(transaction)]},
         {"reply", negative == nullptr ? "ok" : fmt::format("0x03{:02x}", code)}});
  }
  counter->Increment();
  replied_at_.push_back(Clock::now());
}

void Metrics::flushed() {
  if (replied_at_.empty()) return;
  const auto now = Clock::now();
  for (const auto at : replied_at_) took(Phase::kReply, now - at);
  replied_at_.clear();
}

std::string Metrics::text(const backend::Figures& figures) const {
  auto families = figures_->registry.Collect();
  append(figures, families);
  return metrics::to_text(families);
}

}  // namespace simco::middlebox
