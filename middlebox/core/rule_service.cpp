// Rules from start to takeover, their deadlines, and what they have counted.
#include "middlebox/core/rule_service.hpp"

#include "middlebox/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {

Recovery RuleService::start(const store::Contents& contents, const std::string& place,
                            const Clock& clock, Metrics* metrics) {
  SIMCO_ASSERT(journal_ != nullptr);
  if (contents.counters != store::Counters{}) {
    engine_.resume_ids({contents.counters.next_pid, contents.counters.next_gid});
  }
  journal_->resume_ids(engine_.ids());
  if (!contents.owned) {
    engine_.begin_following();
    backend_.lease({});
  }
  auto recovery = recover(contents, place, engine_, backend_, clock, metrics);
  if (contents.owned) {
    journal_->forget(recovery.forgotten);
  } else {
    pipeline_.keep_in(nullptr);
    following_.emplace(engine_, pipeline_, clock, contents, recovery);
  }
  return recovery;
}

void RuleService::take_over(Instant now) {
  backend_.lease(Instant::max());
  engine_.end_following(now);
  const auto ids = engine_.ids();
  engine_.follow_ids({ids.pids + kIdsSkipped, ids.groups + kIdsSkipped});
  journal_->resume_ids(engine_.ids());
  journal_->forget(following_->ended());
  journal_->write_soon();
  pipeline_.keep_in(journal_);
  following_.reset();
}

bool RuleService::advance(Instant now) {
  bool more_to_do = pipeline_.advance(now);
  while (following_ && following_->advance()) more_to_do = pipeline_.advance(now);
  return more_to_do;
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
  std::optional<Instant> first;
  if (expires()) first = pipeline_.next_expiry();
  if (journal_ != nullptr) first = earlier(first, journal_->deadline());
  // Otherwise the end of the batch under way comes first.
  if (following_ && pipeline_.idle()) first = earlier(first, following_->deadline());
  if (following_ && lease_ != Instant{}) first = earlier(first, lease_);
  return first;
}

void RuleService::on_deadline(Instant now) {
  if (lease_ <= now) lease_ = {};
  const auto due = expires() ? pipeline_.next_expiry() : std::nullopt;
  if (due && *due <= now) pipeline_.expire(now);
  if (journal_ != nullptr) journal_->on_deadline(now);
}

}  // namespace simco::middlebox
