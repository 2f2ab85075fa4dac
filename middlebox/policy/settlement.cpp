// The outcome of a change determines the state of the rule, its group, addresses and lifetime.
#include "middlebox/policy/planned_change.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/policy/rule_status.hpp"

namespace simco::policy {
namespace {

using rule::ChangeResult;
using rule::RuleChange;

NegativeReplyCode refusal_for(ChangeResult result) {
  switch (result) {
    case ChangeResult::kNoResources: return NegativeReplyCode::kNoResources;
    case ChangeResult::kOverridden: return NegativeReplyCode::kConflict;
    case ChangeResult::kDone:
    case ChangeResult::kRefused: break;
  }
  return NegativeReplyCode::kConfigurationFailed;
}

/// Settles changes. Holds nothing but the book.
class Settlement {
 public:
  explicit Settlement(RuleBook& book) : book_(book) {}

  Outcome settle(RuleSlot slot, const RuleChange& change, ChangeResult result, Instant now) {
    SIMCO_ASSERT(book_.rules[slot].pid == change.rule().pid);
    book_.end_change(slot);
    Outcome outcome;
    if (result == ChangeResult::kDone) {
      commit(slot, change, now, outcome);
    } else {
      outcome.reply = NegativeReply{refusal_for(result), {}};
      roll_back(slot, change, now, outcome);
    }
    book_.check_counts();
    return outcome;
  }

 private:
  // --- It has been carried out -------------------------------------------------------------------

  void commit(RuleSlot slot, const RuleChange& change, Instant now, Outcome& outcome) {
    const Rule& rule = book_.rules[slot];
    outcome.event = RuleEvent{rule.pid, change.lifetime, rule.owner, rule.creating_tid, {}};
    switch (change.kind) {
      case RuleChange::Kind::kAdd: return commit_addition(slot, change, outcome);
      case RuleChange::Kind::kReplace: return commit_replacement(slot, change, outcome);
      case RuleChange::Kind::kSetLifetime: return commit_lifetime(slot, change, now, outcome);
      case RuleChange::Kind::kRemove: return commit_removal(slot, outcome);
    }
  }

  void commit_addition(RuleSlot slot, const RuleChange& change, Outcome& outcome) {
    Rule& rule = book_.rules[slot];
    rule.pending = false;
    rule.expires_at = change.after.expires_at;
    if (rule.kind != RuleKind::kDisable) book_.groups.settle(rule.group);
    append<&Rule::by_owner>(book_.rules, book_.agents[rule.owner].rules, slot);
    ++book_.agents[rule.owner].live_count;
    if (rule.kind != RuleKind::kDisable) book_.expiry.add(slot);
    switch (rule.kind) {
      case RuleKind::kReserve: outcome.reply = reserve_reply(book_, slot, change.lifetime); return;
      case RuleKind::kEnable:
        book_.disable_rules.add_enabled(slot);
        outcome.reply = enable_reply(book_, slot, change.lifetime);
        return;
      case RuleKind::kDisable:
        outcome.reply = PdrReply{rule.pid, change.lifetime};
        outcome.disabling = rule.under_way = book_.disable_rules.confirm(slot);
        if (!outcome.disabling) book_.expiry.add(slot);
        return;
    }
  }

  // 8.4.2: PID, group, owner and reservations of the NAT stay.
  void commit_replacement(RuleSlot slot, const RuleChange& change, Outcome& outcome) {
    Rule& rule = book_.rules[slot];
    rule.kind = RuleKind::kEnable;
    rule.any_version = false;
    book_.enabling.erase(slot);
    rule.expires_at = change.after.expires_at;
    if (book_.nat.translates()) book_.nat.adopt(slot, rule);
    book_.expiry.add(slot);
    book_.disable_rules.add_enabled(slot);
    outcome.reply = enable_reply(book_, slot, change.lifetime);
  }

  void commit_lifetime(RuleSlot slot, const RuleChange& change, Instant now, Outcome& outcome) {
    // A disable rule that came in between has ended it, for any request.
    if (book_.disable_rules.ended_by(slot)) {
      book_.expiry.add_ended(slot, now);
    } else {
      book_.rules[slot].expires_at = change.after.expires_at;
      book_.expiry.add(slot);
    }
    outcome.reply = PlcReply{change.lifetime};
  }

  void commit_removal(RuleSlot slot, Outcome& outcome) {
    note_ended(slot, outcome);
    outcome.event->ended_by = outcome.ended_by;
    outcome.reply = PrdReply{};
    Rule& rule = book_.rules[slot];
    unlink<&Rule::by_owner>(book_.rules, book_.agents[rule.owner].rules, slot);
    --book_.agents[rule.owner].live_count;
    if (rule.kind == RuleKind::kEnable) book_.disable_rules.remove_enabled(slot);
    if (rule.kind == RuleKind::kDisable) {
      book_.disable_rules.remove(slot);
    } else if (book_.nat.translates()) {
      book_.nat.give_back(slot, rule);
    }
    book_.destroy(slot);
  }

  // The rule in `slot` has ended: answers the disable rules that wait for it, if any.
  void note_ended(RuleSlot slot, Outcome& outcome) {
    auto ended = book_.disable_rules.note_ended(slot);
    outcome.ended_by = ended.by;
    outcome.completed_disables = std::move(ended.completed);
  }

  // --- It has not --------------------------------------------------------------------------------

  void roll_back(RuleSlot slot, const RuleChange& change, Instant now, Outcome& outcome) {
    Rule& rule = book_.rules[slot];
    switch (change.kind) {
      case RuleChange::Kind::kAdd: return roll_back_addition(slot);
      case RuleChange::Kind::kReplace:
        if (book_.nat.translates()) book_.nat.abandon(slot, rule);
        rule.internal = rule.external = book_.enabling.extract(slot).mapped();
        rule.parameters = {};
        book_.quotas.set_elements(slot, 0);
        break;
      case RuleChange::Kind::kSetLifetime:
        if (!book_.disable_rules.ended_by(slot)) break;
        // A disable rule came in between: it still has to go.
        return book_.expiry.add_ended(slot, now);
      case RuleChange::Kind::kRemove:
        if (rule.kind != RuleKind::kDisable) book_.groups.settle(rule.group);
        // A disable rule came in between: it still has to go.
        if (book_.disable_rules.ended_by(slot)) rule.expires_at = std::min(rule.expires_at, now);
        // The backend still enforces it, so it stays in the table; its lifetime is over all the
        // same.
        if (rule.expires_at <= now) {
          book_.expiry.add_again(slot, now + kExpiryRetry);
          return note_ended(slot, outcome);
        }
        break;
    }
    book_.expiry.add(slot);
    note_ended(slot, outcome);
  }

  void roll_back_addition(RuleSlot slot) {
    const Rule& rule = book_.rules[slot];
    if (rule.kind == RuleKind::kDisable) {
      book_.disable_rules.withdraw(slot);
    } else if (book_.nat.translates()) {
      book_.nat.give_back(slot, rule);
    }
    book_.destroy(slot);
  }

  RuleBook& book_;
};

}  // namespace

Outcome settle(RuleBook& book, RuleSlot slot, const RuleChange& change, ChangeResult result,
               Instant now) {
  return Settlement(book).settle(slot, change, result, now);
}

}  // namespace simco::policy
