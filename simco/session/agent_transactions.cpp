// Bookkeeping by TID, by deadline and by rule. A rule's stream is that of the request that created
// it.
#include "simco/session/agent_transactions.hpp"

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco {
namespace {

/// The sub-type of the positive reply to a request: kPlc stands for PRD as well, kPrs for PES and
/// PDS.
SubType awaited_by(const Body& request) {
  const auto* change = std::get_if<PlcRequest>(&request);
  if (change != nullptr && change->lifetime == Lifetime{0}) return SubType::kPrd;
  const auto sub = static_cast<SubType>(type_of(request).sub);
  return sub == SubType::kPea ? SubType::kPer : sub;
}

bool answers(const Body& reply, SubType awaited) {
  if (std::holds_alternative<NegativeReply>(reply)) return true;
  const auto sub = static_cast<SubType>(type_of(reply).sub);
  switch (sub) {
    case SubType::kPrd: return awaited == SubType::kPrd || awaited == SubType::kPlc;
    case SubType::kPes:
    case SubType::kPds: return awaited == SubType::kPrs;
    default: return awaited == sub;
  }
}

/// A rule that the agent ends itself ends without a notification to it.
bool ends_rule(const Body& reply) {
  const auto* refused = std::get_if<NegativeReply>(&reply);
  return std::holds_alternative<PrdReply>(reply) ||
         (refused != nullptr && refused->code == NegativeReplyCode::kNoSuchRule);
}

}  // namespace

std::optional<PolicyRuleId> made_rule(const Body& reply) {
  if (const auto* prr = std::get_if<PrrReply>(&reply)) return prr->pid;
  if (const auto* per = std::get_if<PerReply>(&reply)) return per->pid;
  if (const auto* pdr = std::get_if<PdrReply>(&reply)) return pdr->pid;
  return std::nullopt;
}

void AgentTransactions::set_streams(std::uint16_t streams) {
  SIMCO_ASSERT(streams > 0 && creating_tid_.empty() && pending_.empty());
  streams_ = streams;
}

std::optional<TransactionId> AgentTransactions::stream_of(std::optional<PolicyRuleId> rule) const {
  if (!rule) return std::nullopt;
  const auto found = creating_tid_.find(*rule);
  return found == creating_tid_.end() ? std::nullopt : std::optional(found->second);
}

void AgentTransactions::start(TransactionId tid, const Body& request,
                              std::optional<PolicyRuleId> rule, Instant deadline, Completion done) {
  // Callers may pass cached or fresh times: the order stays.
  if (!deadlines_.empty()) deadline = std::max(deadline, deadlines_.back().first);
  // In this order: if memory is exhausted, a deadline without a transaction does no harm.
  deadlines_.emplace_back(deadline, tid);
  const bool fresh =
      pending_.emplace(tid, Pending{std::move(done), awaited_by(request), rule}).second;
  SIMCO_ASSERT(fresh);  // 4.2.5: a TID is used once
}

void AgentTransactions::on_reply(TransactionId tid, const Body& reply) {
  const auto found = pending_.find(tid);
  if (found == pending_.end()) return;
  auto [done, awaited, rule] = std::move(found->second);
  pending_.erase(found);
  if (!answers(reply, awaited)) return done(TransactionEnd::kWrongReply, nullptr);
  if (rule && ends_rule(reply)) creating_tid_.erase(*rule);
  remember_stream(reply, rule, tid);
  done(TransactionEnd::kReplied, &reply);
}

void AgentTransactions::remember_stream(const Body& reply, std::optional<PolicyRuleId> about,
                                        TransactionId tid) {
  if (streams_ == 1) return;
  const auto pid = made_rule(reply);
  if (!pid) return;
  // PEA keeps the PID: its rule stays on the stream of the reservation, if that was of this
  // session.
  if (about) {
    creating_tid_.try_emplace(*pid, tid);
  } else {
    creating_tid_.insert_or_assign(*pid, tid);
  }
}

std::optional<Instant> AgentTransactions::next_deadline() const {
  return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.front().first);
}

void AgentTransactions::on_deadline(Instant now) {
  while (!deadlines_.empty()) {
    const auto [deadline, tid] = deadlines_.front();
    const auto found = pending_.find(tid);
    if (found != pending_.end() && deadline > now) return;
    deadlines_.pop_front();
    if (found == pending_.end()) continue;  // answered since
    auto done = std::move(found->second.done);
    pending_.erase(found);
    done(TransactionEnd::kTimedOut, nullptr);
  }
}

void AgentTransactions::on_rule_event(PolicyRuleId pid, Lifetime lifetime) {
  if (lifetime == Lifetime{0}) creating_tid_.erase(pid);
  events_.push_back({pid, lifetime});
  if (events_.size() <= kAgentEventsMax) return;
  const std::uint64_t lost = events_.front().lost + 1;
  events_.pop_front();
  events_.front().lost = lost;
}

std::optional<RuleEvent> AgentTransactions::take_event() {
  if (events_.empty()) return std::nullopt;
  const RuleEvent event = events_.front();
  events_.pop_front();
  return event;
}

void AgentTransactions::end() {
  deadlines_.clear();
  creating_tid_.clear();
  // Completions may look at this object: it must be consistent before the first of them runs.
  for (auto& [tid, pending] : std::exchange(pending_, {})) {
    pending.done(TransactionEnd::kSessionEnded, nullptr);
  }
}

}  // namespace simco
