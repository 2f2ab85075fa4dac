// Settling: completes a planned change that was carried out, or undoes it.
#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"

namespace simco::policy {
namespace {

using rule::ChangeResult;

NegativeReplyCode refusal_for(ChangeResult result) {
  switch (result) {
    case ChangeResult::kNoResources: return NegativeReplyCode::kNoResources;
    case ChangeResult::kOverridden: return NegativeReplyCode::kConflict;
    case ChangeResult::kDone:
    case ChangeResult::kRefused: break;
  }
  return NegativeReplyCode::kConfigurationFailed;
}

}  // namespace

using rule::RuleChange;

bool PolicyEngine::overridden(RuleSlot slot, const RuleChange& change) const {
  const bool adds =
      change.kind == RuleChange::Kind::kAdd || change.kind == RuleChange::Kind::kReplace;
  if (!adds || change.after.kind != RuleKind::kEnable) return false;
  const Rule& rule = rules_[slot];
  SIMCO_ASSERT(rule.under_way && rule.pid == change.after.pid);
  return block_on(rule.internal, rule.external).in_force;
}

Outcome PolicyEngine::settle(RuleSlot slot, const RuleChange& change, ChangeResult result,
                             Instant now) {
  Rule& rule = rules_[slot];
  SIMCO_ASSERT(rule.under_way && rule.pid == change.rule().pid);
  rule.under_way = false;
  --changes_under_way_;
  Outcome outcome;
  if (result == ChangeResult::kDone) {
    commit(slot, change, now, outcome);
  } else {
    outcome.reply = NegativeReply{refusal_for(result), {}};
    roll_back(slot, change, now, outcome);
  }
  check_counts();
  return outcome;
}

void PolicyEngine::check_counts() const {
  // Each rule waits for its end, for the outcome of its one change, or, if it is a disable rule,
  // for the end of its search.
  SIMCO_ASSERT(rules_.size() == expiry_.size() + changes_under_way_ + searches_);
  // Each rule but disable rules has what the NAT gave it, and no other has.
  SIMCO_ASSERT(!nat_.translates() || rules_.size() == nat_.holders() + disable_rules_.size());
  SIMCO_ASSERT(rules_.size() >= enable_rules_.size() + disable_rules_.size());
  SIMCO_ASSERT(disable_rules_.size() >= pending_disable_rules_);
  // A PDR waits for its search, or for rules that are being ended, each of them for one PDR.
  SIMCO_ASSERT(disabling_.empty() == (ended_by_.empty() && searches_ == 0));
  SIMCO_ASSERT(rules_.size() != 0 || (elements_ == 0 && groups_.size() == 0));
}

// --- It has been carried out -------------------------------------------------------------------

void PolicyEngine::commit(RuleSlot slot, const RuleChange& change, Instant now, Outcome& outcome) {
  const Rule& rule = rules_[slot];
  outcome.event = RuleEvent{rule.pid, change.lifetime, rule.owner, rule.creating_tid, {}};
  switch (change.kind) {
    case RuleChange::Kind::kAdd: return commit_addition(slot, change, outcome);
    case RuleChange::Kind::kReplace: return commit_replacement(slot, change, outcome);
    case RuleChange::Kind::kSetLifetime: return commit_lifetime(slot, change, now, outcome);
    case RuleChange::Kind::kRemove: return commit_removal(slot, outcome);
  }
}

void PolicyEngine::commit_addition(RuleSlot slot, const RuleChange& change, Outcome& outcome) {
  Rule& rule = rules_[slot];
  rule.pending = false;
  rule.expires_at = change.after.expires_at;
  if (rule.kind != RuleKind::kDisable) groups_.settle(rule.group);
  append<&Rule::by_owner>(rules_, agents_[rule.owner].rules, slot);
  ++agents_[rule.owner].live_count;
  const bool ends_others = rule.kind == RuleKind::kDisable && !enable_rules_.empty();
  // While it looks for them, it stays under way: neither its lifetime nor a PLC ends it before.
  if (!ends_others) expiry_.add(slot);
  switch (rule.kind) {
    case RuleKind::kReserve: outcome.reply = reserved(slot, change.lifetime); return;
    case RuleKind::kEnable:
      enable_rules_.insert(slot, traffic_of(rule.internal, rule.external));
      outcome.reply = enabled(slot, change.lifetime);
      return;
    case RuleKind::kDisable:
      SIMCO_ASSERT(pending_disable_rules_ > 0);
      --pending_disable_rules_;
      outcome.reply = PdrReply{rule.pid, change.lifetime};
      outcome.disabling = rule.under_way = ends_others;
      if (ends_others) {
        disabling_.try_emplace(rule.pid);
        ++searches_;
      }
      return;
  }
}

// 8.4.2: the PID stays, and so do group, owner and what the NAT had reserved.
void PolicyEngine::commit_replacement(RuleSlot slot, const RuleChange& change, Outcome& outcome) {
  Rule& rule = rules_[slot];
  rule.kind = RuleKind::kEnable;
  rule.any_version = false;
  enabling_.erase(slot);
  rule.expires_at = change.after.expires_at;
  if (nat_.translates()) nat_.adopt(slot, rule);
  expiry_.add(slot);
  enable_rules_.insert(slot, traffic_of(rule.internal, rule.external));
  outcome.reply = enabled(slot, change.lifetime);
}

void PolicyEngine::commit_lifetime(RuleSlot slot, const RuleChange& change, Instant now,
                                   Outcome& outcome) {
  // A disable rule that came in between has ended it, whatever was asked for.
  const bool ended = ended_by_.contains(slot);
  rules_[slot].expires_at = ended ? now - kExpiryTick : change.after.expires_at;
  expiry_.add(slot);
  outcome.reply = PlcReply{change.lifetime};
}

void PolicyEngine::commit_removal(RuleSlot slot, Outcome& outcome) {
  note_ended(slot, outcome);
  outcome.event->ended_by = outcome.ended_by;
  outcome.reply = PrdReply{};
  Rule& rule = rules_[slot];
  unlink<&Rule::by_owner>(rules_, agents_[rule.owner].rules, slot);
  --agents_[rule.owner].live_count;
  if (rule.kind == RuleKind::kEnable) {
    enable_rules_.erase(slot, traffic_of(rule.internal, rule.external));
  }
  if (rule.kind == RuleKind::kDisable) {
    file_disable_rule(slot, false);
  } else if (nat_.translates()) {
    nat_.give_back(slot, rule);
  }
  destroy_rule(slot);
}

// --- It has not --------------------------------------------------------------------------------

void PolicyEngine::roll_back(RuleSlot slot, const RuleChange& change, Instant now,
                             Outcome& outcome) {
  Rule& rule = rules_[slot];
  switch (change.kind) {
    case RuleChange::Kind::kAdd: return roll_back_addition(slot);
    case RuleChange::Kind::kReplace:
      if (nat_.translates()) nat_.abandon(slot, rule);
      rule.internal = rule.external = enabling_.extract(slot).mapped();
      rule.parameters = {};
      set_elements(slot, 0);
      break;
    case RuleChange::Kind::kSetLifetime:
      if (!ended_by_.contains(slot)) break;
      // A disable rule came in between: it still has to go.
      rule.expires_at = now - kExpiryTick;
      expiry_.add(slot);
      return;
    case RuleChange::Kind::kRemove:
      if (rule.kind != RuleKind::kDisable) groups_.settle(rule.group);
      // The backend still enforces it, so it stays in the table; its lifetime is over all the same.
      if (rule.expires_at <= now) {
        expiry_.add_again(slot, now + kExpiryRetry);
        return note_ended(slot, outcome);
      }
      break;
  }
  expiry_.add(slot);
  note_ended(slot, outcome);
}

void PolicyEngine::roll_back_addition(RuleSlot slot) {
  const Rule& rule = rules_[slot];
  if (rule.kind == RuleKind::kDisable) {
    SIMCO_ASSERT(pending_disable_rules_ > 0);
    --pending_disable_rules_;
    file_disable_rule(slot, false);
  } else if (nat_.translates()) {
    nat_.give_back(slot, rule);
  }
  destroy_rule(slot);
}

}  // namespace simco::policy
