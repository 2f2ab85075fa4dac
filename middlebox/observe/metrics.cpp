// Declares each metric with its description and labels, and counts. All time series exist from the
// start or are created from fixed label values.
#include "middlebox/observe/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "simco/metrics/registry.hpp"

namespace simco::middlebox {
namespace {

using metrics::Histogram;
using metrics::Labels;
using rule::ChangeResult;
using rule::RuleChange;
using rule::RuleKind;

constexpr std::array<const char*, kPhases> kPhaseNames = {"decide", "queue", "store", "kernel",
                                                          "reply"};
/// RFC 4540 section 8.1: a PID is RESERVED or ENABLED; disable rules are told apart.
constexpr std::array<const char*, 3> kRuleStates = {"reserved", "enabled", "disable"};
constexpr std::array<const char*, 3> kResults = {"done", "refused", "no-resources"};
constexpr std::size_t kReplies = 256;  ///< low octets of 0x03NN; 0 stands for a positive reply

/// From 1 us, which a decision takes, to 1 s, which nothing should.
constexpr auto kSeconds =
    std::to_array<double>({1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3,
                           1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1});
constexpr auto kBatch = std::to_array<double>({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024});

std::size_t index(auto value) { return static_cast<std::size_t>(value); }

}  // namespace

struct Metrics::Figures {
  metrics::Registry registry;

  double& connections = registry.gauge("simco_connections", "Open connections and associations.");
  double& sessions = registry.gauge("simco_sessions", "Open sessions.");
  double& groups = registry.gauge("simco_groups", "Groups of policy rules.");
  double& stands_by = registry.gauge(
      "simco_stands_by",
      "1 while packets pass by the rules of another middlebox, which serves the agents.");
  double& sessions_opened = registry.counter("simco_sessions_opened_total", "Sessions opened.");
  double& authentication_failures =
      registry.counter("simco_authentication_failures_total", "Authentication tokens rejected.");
  double& expirations =
      registry.counter("simco_expirations_total", "Rules ended because their lifetime expired.");
  Histogram& batches = registry.histogram("simco_batch_changes",
                                          "Rule changes per batch sent to the backend.", kBatch);
  double& store_failures =
      registry.counter("simco_store_failures_total", "Batches that could not be stored.");
  std::array<double*, kRuleStates.size()> rules{};
  std::array<double*, kResults.size()> changes{};
  std::array<Histogram*, kPhases> phases{};
  std::array<double*, 4> pool_addresses{};  ///< outside IPv4, IPv6, inside IPv4, IPv6
  std::array<double*, 4> pool_used{};
  std::array<double*, 4> pool_ports{};
  /// Made when first needed, but the usual refusals, which a dashboard shows before the first.
  std::array<std::array<double*, kReplies>, policy::kTransactions> replies{};
  std::array<double*, kReplies> refusals{};

  Figures() {
    for (std::size_t i = 0; i < kRuleStates.size(); ++i) {
      rules[i] = &registry.gauge("simco_rules", "Policy rules in force, by state.",
                                 {{"state", kRuleStates[i]}});
    }
    fill_pools();
    for (std::size_t i = 0; i < kPhases; ++i) {
      phases[i] = &registry.histogram(
          "simco_transaction_seconds",
          "Time that policy rule transactions spend in the middlebox, by phase.", kSeconds,
          {{"phase", kPhaseNames[i]}});
    }
    for (std::size_t i = 0; i < kResults.size(); ++i) {
      changes[i] = &registry.counter("simco_backend_changes_total",
                                     "Rule changes requested from the backend, by result.",
                                     {{"result", kResults[i]}});
    }
    using enum NegativeReplyCode;
    for (const auto code : {kSecurityInsufficient, kAuthenticationFailed, kNoAuthorization}) {
      refusal(code);
    }
    registry.gauge("simco_build_info", "Version of the middlebox.", {{"version", SIMCO_VERSION}}) =
        1;
  }

  double& refusal(NegativeReplyCode code) {
    auto*& counter = refusals[index(code)];
    if (counter == nullptr) {
      counter =
          &registry.counter("simco_sessions_refused_total", "Sessions refused, by reply code.",
                            {{"code", fmt::format("0x03{:02x}", index(code))}});
    }
    return *counter;
  }

  void fill_pools() {
    for (std::size_t i = 0; i < 4; ++i) {
      const Labels labels{{"ip", i % 2 ? "6" : "4"}, {"pool", i < 2 ? "outside" : "inside"}};
      pool_addresses[i] =
          &registry.gauge("simco_pool_addresses", "Addresses in the NAT pool.", labels);
      pool_used[i] = &registry.gauge("simco_pool_addresses_in_use",
                                     "Pool addresses with at least one port in use.", labels);
      pool_ports[i] =
          &registry.gauge("simco_pool_ports_in_use", "Pool ports in use, all protocols.", labels);
    }
  }
};

Metrics::Metrics() : figures_(std::make_unique<Figures>()) {}
Metrics::~Metrics() = default;

void Metrics::set(const Levels& levels) {
  figures_->connections = static_cast<double>(levels.connections);
  figures_->sessions = static_cast<double>(levels.sessions);
  figures_->groups = static_cast<double>(levels.groups);
  figures_->stands_by = levels.stands_by ? 1 : 0;
  for (std::size_t i = 0; i < levels.nat.pools.size(); ++i) {
    const auto& pool = levels.nat.pools[i];
    *figures_->pool_addresses[i] = pool.addresses;
    *figures_->pool_used[i] = pool.addresses_in_use;
    *figures_->pool_ports[i] = static_cast<double>(pool.ports_in_use);
  }
}

void Metrics::session_opened() { ++figures_->sessions_opened; }

void Metrics::session_refused(NegativeReplyCode code) { ++figures_->refusal(code); }

void Metrics::authentication_failed() { ++figures_->authentication_failures; }

void Metrics::took(Phase phase, Clock::duration time, std::size_t count) {
  const double seconds = std::chrono::duration<double>(time).count();
  figures_->phases[index(phase)]->observe(seconds, count);
}

void Metrics::batch_took(Clock::duration time, std::size_t count) {
  const auto store_time = std::min(std::exchange(store_time_, {}), time);
  if (store_time.count() != 0) took(Phase::kStore, store_time, count);
  took(Phase::kKernel, time - store_time, count);
}

void Metrics::stored(Clock::duration time, bool kept) {
  store_time_ += time;
  if (!kept) ++figures_->store_failures;
}

void Metrics::restored(RuleKind kind) { ++*figures_->rules[index(kind)]; }

void Metrics::batch(std::size_t changes) {
  store_time_ = {};  // writes between batches delayed none of them
  figures_->batches.observe(static_cast<double>(changes));
}

void Metrics::decided(const rule::Decision& decision) {
  ++*figures_->changes[index(decision.result)];
  if (decision.result != ChangeResult::kDone) return;
  auto& rules = figures_->rules;
  switch (decision.change.kind) {
    case RuleChange::Kind::kAdd: ++*rules[index(decision.change.rule().kind)]; return;
    case RuleChange::Kind::kReplace:
      --*rules[index(RuleKind::kReserve)];
      ++*rules[index(RuleKind::kEnable)];
      return;
    case RuleChange::Kind::kSetLifetime: return;
    case RuleChange::Kind::kRemove:
      --*rules[index(decision.change.rule().kind)];
      if (decision.by.empty() && decision.ended_by == PolicyRuleId{}) {
        ++figures_->expirations;
      }
      return;
  }
}

void Metrics::replied(policy::Transaction transaction, const Body& reply) {
  const auto* negative = std::get_if<NegativeReply>(&reply);
  const std::size_t code = negative == nullptr ? 0 : index(negative->code);
  auto*& counter = figures_->replies[index(transaction)][code];
  if (counter == nullptr) {
    counter = &figures_->registry.counter(
        "simco_transactions_total",
        "Policy rule transactions answered, by type and reply (ok or the reply code).",
        {{"reply", negative == nullptr ? "ok" : fmt::format("0x03{:02x}", code)},
         {"type", std::string(policy::name_of(transaction))}});
  }
  ++*counter;
  replied_at_.push_back(Clock::now());
}

void Metrics::flushed() {
  if (replied_at_.empty()) return;
  const auto now = Clock::now();
  for (const auto at : replied_at_) took(Phase::kReply, now - at);
  replied_at_.clear();
}

std::string Metrics::text(const backend::Figures& figures) const {
  auto result = figures_->registry.text();
  std::string_view name;
  for (const auto& figure : figures) {
    if (std::exchange(name, figure.name) != figure.name) {
      metrics::write_head(figure.name, figure.help, "counter", result);
    }
    metrics::write_sample(figure.name, figure.labels, static_cast<double>(figure.value), result);
  }
  return result;
}

}  // namespace simco::middlebox
