// Each rule has one place in the agenda: when its renewal is due or, while that cannot be sent or
// is under way, when its lifetime is over.
#include "simco/session/rule_keeper.hpp"

#include <algorithm>
#include <unordered_set>

#include "simco/session/limits.hpp"

namespace simco {
namespace {

/// A status (8.6) of an enable rule or a reservation.
struct Status {
  std::optional<KeptRule::Terms> enabled;
  AddressTuple outside;
  Lifetime lifetime;
};

std::optional<Status> status_in(const Body& reply) {
  if (const auto* rule = std::get_if<PesReply>(&reply)) {
    return Status{KeptRule::Terms{rule->internal, rule->external, rule->parameters.direction},
                  rule->outside, rule->lifetime};
  }
  if (const auto* reservation = std::get_if<PrsReply>(&reply)) {
    return Status{std::nullopt, reservation->outside, reservation->lifetime};
  }
  return std::nullopt;
}

/// Why a reply means that the rule is lost, if it does.
std::optional<RuleLoss> loss_of(const KeptRule& rule, const Body& reply) {
  if (const auto status = status_in(reply)) {
    const bool same = status->enabled == rule.enabled && status->outside == rule.outside;
    return same ? std::nullopt : std::optional(RuleLoss::kNotOurs);
  }
  if (std::holds_alternative<PdsReply>(reply)) return RuleLoss::kNotOurs;
  if (std::holds_alternative<PrdReply>(reply)) return RuleLoss::kEnded;
  const auto* refused = std::get_if<NegativeReply>(&reply);
  if (refused == nullptr) return std::nullopt;
  if (refused->code == NegativeReplyCode::kNoSuchRule) return RuleLoss::kEnded;
  if (refused->code == NegativeReplyCode::kRuleAccessDenied) return RuleLoss::kNotOurs;
  return std::nullopt;
}

}  // namespace

void RuleKeeper::keep(const KeptRule& rule, Lifetime lifetime, Instant now) {
  const auto [at, fresh] = rules_.try_emplace(rule.pid);
  if (!fresh) agenda_.erase({at->second.planned, rule.pid});
  at->second = Entry{.rule = rule, .expires = {}, .due = {}, .planned = {}};
  granted(at->second, lifetime, now);
}

void RuleKeeper::forget(PolicyRuleId pid) {
  const auto found = rules_.find(pid);
  if (found == rules_.end()) return;
  agenda_.erase({found->second.planned, pid});
  rules_.erase(found);
}

void RuleKeeper::end(PolicyRuleId pid) {
  const auto found = rules_.find(pid);
  if (found == rules_.end()) return;
  Entry& entry = found->second;
  entry.ends = true;
  entry.rule.wanted = Lifetime{0};
  entry.due = Instant::min();
  plan(entry);
}

const KeptRule* RuleKeeper::find(PolicyRuleId pid) const {
  const auto found = rules_.find(pid);
  return found == rules_.end() ? nullptr : &found->second.rule;
}

std::vector<KeptRule> RuleKeeper::unended() const {
  std::vector<KeptRule> result;
  for (const auto& [pid, entry] : rules_) {
    if (entry.ends) result.push_back(entry.rule);
  }
  return result;
}

void RuleKeeper::on_session_open() {
  open_ = true;
  listing_ = rules_.empty() ? Listing::kNone : Listing::kWanted;
  for (auto& [pid, entry] : rules_) {
    entry.unsure = true;
    entry.asked = false;
    plan(entry);
  }
}

void RuleKeeper::on_session_end() {
  open_ = false;
  listing_ = Listing::kNone;
  for (auto& [pid, entry] : rules_) plan(entry);
}

void RuleKeeper::on_rule_event(PolicyRuleId pid, Lifetime lifetime, Instant now) {
  const auto found = rules_.find(pid);
  if (found == rules_.end()) return;
  if (lifetime.seconds == 0) return lose(found, RuleLoss::kEnded);
  granted(found->second, lifetime, now);
}

void RuleKeeper::on_end(std::optional<PolicyRuleId> pid, const Body* reply, Instant now) {
  if (under_way_ != 0) --under_way_;
  if (!pid) return on_listed(reply, now);
  const auto found = rules_.find(*pid);
  if (found == rules_.end()) return;
  Entry& entry = found->second;
  entry.asked = false;
  if (reply == nullptr) return retry(entry, now);
  if (const auto why = loss_of(entry.rule, *reply)) return lose(found, *why);
  if (const auto* renewed = std::get_if<PlcReply>(reply)) {
    granted(entry, renewed->lifetime, now);
  } else if (const auto status = status_in(*reply)) {
    entry.unsure = false;
    granted(entry, status->lifetime, now);
    entry.due = now;  // for how long the session was away is not known, and may happen again
    plan(entry);
  } else {
    retry(entry, now);
  }
}

void RuleKeeper::on_listed(const Body* reply, Instant now) {
  if (listing_ != Listing::kUnderWay) return;
  listing_ = Listing::kNone;
  // Refused if there are more rules than a reply can name: then each is asked for.
  const auto* list = reply == nullptr ? nullptr : std::get_if<PrlReply>(reply);
  std::unordered_set<PolicyRuleId> present;
  if (list != nullptr) present.insert(list->pids.begin(), list->pids.end());
  for (auto at = rules_.begin(); at != rules_.end();) {
    const auto next = std::next(at);
    Entry& entry = at->second;
    if (entry.unsure && list != nullptr && !present.contains(at->first)) {
      lose(at, RuleLoss::kEnded);
    } else if (entry.unsure) {
      entry.due = now;
      plan(entry);
    }
    at = next;
  }
}

std::optional<RuleKeeper::Request> RuleKeeper::next_request(Instant now) {
  if (under_way_ >= kKeptRequestsMax) return std::nullopt;
  if (listing_ == Listing::kWanted) {
    listing_ = Listing::kUnderWay;
    ++under_way_;
    return Request{std::nullopt, PrlRequest{}};
  }
  while (!agenda_.empty() && agenda_.begin()->first <= now) {
    const auto found = rules_.find(agenda_.begin()->second);
    Entry& entry = found->second;
    if (entry.expires <= now) {
      lose(found, RuleLoss::kExpired);
      continue;
    }
    entry.asked = true;
    ++under_way_;
    plan(entry);
    const PolicyRuleId pid = found->first;
    if (entry.unsure) return Request{pid, PrsRequest{pid}};
    return Request{pid, PlcRequest{pid, entry.rule.wanted}};
  }
  return std::nullopt;
}

std::optional<RuleKeeper::Loss> RuleKeeper::take_loss() {
  if (losses_.empty()) return std::nullopt;
  const Loss loss = losses_.front();
  losses_.pop_front();
  return loss;
}

std::optional<Instant> RuleKeeper::next_deadline() const {
  // The end of a request makes room for those that are due.
  if (agenda_.empty() || under_way_ >= kKeptRequestsMax) return std::nullopt;
  return agenda_.begin()->first;
}

void RuleKeeper::plan(Entry& entry) {
  const bool must_wait = !open_ || entry.asked || (entry.unsure && listing_ != Listing::kNone);
  agenda_.erase({entry.planned, entry.rule.pid});
  entry.planned = must_wait ? entry.expires : std::min(entry.due, entry.expires);
  agenda_.emplace(entry.planned, entry.rule.pid);
}

void RuleKeeper::granted(Entry& entry, Lifetime lifetime, Instant now) {
  const std::chrono::seconds time(lifetime.seconds);
  entry.expires = now + time;
  entry.due = entry.ends ? Instant::min() : now + Instant::duration(time) / 2;
  plan(entry);
}

void RuleKeeper::retry(Entry& entry, Instant now) {
  entry.due = now + std::max<Instant::duration>((entry.expires - now) / 2, kRenewalRetryMin);
  plan(entry);
}

void RuleKeeper::lose(Rules::iterator found, RuleLoss why) {
  losses_.push_back({found->first, why});
  agenda_.erase({found->second.planned, found->first});
  rules_.erase(found);
}

}  // namespace simco
