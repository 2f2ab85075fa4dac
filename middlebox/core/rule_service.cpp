// Start with the stored rules, their traffic, and the deadlines of pipeline and journal.
#include "middlebox/core/rule_service.hpp"

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco::middlebox {

Recovery RuleService::start(const store::Contents& contents, const std::string& place,
                            const Clock& clock, Metrics* metrics) {
  SIMCO_ASSERT(journal_ != nullptr);
  if (contents.counters != store::Counters{}) {
    engine_.resume_ids({contents.counters.next_pid, contents.counters.next_gid});
  }
  journal_->resume_ids(engine_.ids());
  auto recovery = recover(contents, place, engine_, backend_, clock, metrics);
  journal_->forget(recovery.forgotten);
  return recovery;
}

void RuleService::restore_store() {
  engine_.for_each_rule([this](const rule::RuleRecord& rule) { journal_->put_off(rule); });
}

std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> RuleService::traffic(
    std::span<const PolicyRuleId> pids) {
  std::vector<rule::RuleRecord> rules;
  for (const auto pid : pids) {
    if (const auto rule = engine_.find(pid)) rules.push_back(*rule);
  }
  std::vector<std::pair<PolicyRuleId, rule::RuleTraffic>> result;
  auto counted = backend_.traffic(rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (counted[i]) result.emplace_back(rules[i].pid, std::move(*counted[i]));
  }
  return result;
}

std::optional<Instant> RuleService::deadline() const {
  const auto expiry = pipeline_.next_expiry();
  const auto retry = journal_ == nullptr ? std::nullopt : journal_->deadline();
  return expiry && retry ? std::min(expiry, retry) : std::max(expiry, retry);
}

void RuleService::on_deadline(Instant now) {
  if (const auto due = pipeline_.next_expiry(); due && *due <= now) pipeline_.expire(now);
  if (journal_ != nullptr) journal_->on_deadline(now);
}

}  // namespace simco::middlebox
