// PDR (RFC 4540 section 8.8): blocks traffic, and ends the enable rules that overlap.
#include <utility>

#include "middlebox/policy/engine.hpp"
#include "middlebox/policy/replies.hpp"

namespace simco::policy {
namespace {

using enum NegativeReplyCode;

std::uint16_t key_of(IpVersion version, std::uint8_t protocol) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(version) << 8 | protocol);
}

}  // namespace

Verdict PolicyEngine::disable(const RequestContext& context, const PdrRequest& request, Instant now,
                              Plan& plan) {
  const auto agent = context.agent;
  if (const auto code = check_pair(agent, request.internal, request.external, Direction::kInbound,
                                   filter_capabilities_, options_.protocols)) {
    return refuse(context, plan, *code);
  }
  const Lifetime lifetime = grant(context, request.lifetime);
  if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
  if (const auto code = check_resources(agent)) return refuse(context, plan, *code);
  const auto elements = elements_of(request.internal, request.external, 0);
  if (const auto code = check_elements(agent, elements)) return refuse(context, plan, *code);
  const RuleSlot slot = create_rule(context, RuleKind::kDisable, std::nullopt);
  rules_[slot].internal = request.internal;
  rules_[slot].external = request.external;
  set_elements(slot, elements);
  // From here on no enable rule is planned that it would have to end.
  ++pending_disable_rules_;
  file_disable_rule(slot, true);
  return plan_addition(slot, lifetime, now, plan);
}

void PolicyEngine::file_disable_rule(RuleSlot slot, bool in) {
  const Rule& rule = rules_[slot];
  const auto traffic = traffic_of(rule.internal, rule.external);
  if (in) {
    disable_rules_.insert(slot, traffic);
  } else {
    disable_rules_.erase(slot, traffic);
  }
  if (!is_everything(traffic)) return;
  auto& blocks = total_blocks_[key_of(traffic.version, traffic.protocol)];
  in ? ++blocks : --blocks;
}

bool PolicyEngine::blocks_everything(IpVersion version, std::uint8_t protocol) const {
  const auto is_blocked = [&](std::uint8_t one) {
    const auto found = total_blocks_.find(key_of(version, one));
    return found != total_blocks_.end() && found->second != 0;
  };
  return is_blocked(kProtocolAny) || is_blocked(protocol);
}

// --- What it ends ------------------------------------------------------------------------------

// The rules are ended as if their lifetime were over: in bounded steps, each with its event, and
// tried again should the backend fail to remove one. The disable rule is in force already, so none
// that it hits can be added while they are looked for.
DisableStep PolicyEngine::end_disabled(PolicyRuleId pid, std::uint32_t looks, Instant now) {
  const RuleSlot slot = rules_.find(pid);
  Rule& disable_rule = rules_[slot];
  Disabling& disabling = disabling_.at(pid);
  SIMCO_ASSERT(disabling.searching && disable_rule.under_way);
  const auto traffic = traffic_of(disable_rule.internal, disable_rule.external);
  const auto is_hit = [&](RuleSlot other) {
    const Rule& rule = rules_[other];
    return overlap(traffic, traffic_of(rule.internal, rule.external));
  };
  DisableStep step;
  overlapping_.clear();
  if (!disabling.next_slot) {
    auto budget = options_.disable_scan_max;
    step.found_all = enable_rules_.find_all(traffic, budget, is_hit, overlapping_);
    step.looked = options_.disable_scan_max - budget;
    if (!step.found_all) overlapping_.clear();
    disabling.next_slot = 0;
  } else {
    auto& next = *disabling.next_slot;
    for (; step.looked < looks && next < rules_.slots_end(); ++step.looked, ++next) {
      const Rule& rule = rules_[RuleSlot{next}];
      const bool enables =
          rule.pid != PolicyRuleId{} && rule.kind == RuleKind::kEnable && !rule.pending;
      if (enables && is_hit(RuleSlot{next})) overlapping_.push_back(RuleSlot{next});
    }
    step.found_all = next >= rules_.slots_end();
  }
  for (const RuleSlot other : overlapping_) {
    if (end_disabled_rule(other, pid, disabling, now)) ++step.ended;
  }
  if (!step.found_all) return step;
  disabling.searching = false;
  --searches_;
  disable_rule.under_way = false;
  expiry_.add(slot);
  step.completed = complete_if_done(pid);
  return step;
}

bool PolicyEngine::end_disabled_rule(RuleSlot slot, PolicyRuleId disable_rule, Disabling& disabling,
                                     Instant now) {
  const auto [ended_by, is_first] = ended_by_.try_emplace(slot, disable_rule);
  if (!is_first) {
    auto& followers = disabling_.at(ended_by->second).followers;
    if (followers.empty() || followers.back() != disable_rule) {
      followers.push_back(disable_rule);
      ++disabling.followed;
    }
    return false;
  }
  ++disabling.ending;
  Rule& rule = rules_[slot];
  if (rule.under_way) return true;  // what becomes of that change, it will end
  expiry_.remove(slot);
  rule.expires_at = now - kExpiryTick;
  expiry_.add(slot);
  return true;
}

void PolicyEngine::note_ended(RuleSlot slot, Outcome& outcome) {
  const auto ended = ended_by_.extract(slot);
  if (!ended) return;
  outcome.ended_by = ended.mapped();
  auto& disabling = disabling_.at(outcome.ended_by);
  SIMCO_ASSERT(disabling.ending > 0);
  if (--disabling.ending != 0) return;
  const auto followers = std::exchange(disabling.followers, {});
  if (complete_if_done(outcome.ended_by)) outcome.completed_disables.push_back(outcome.ended_by);
  for (const auto follower : followers) {
    --disabling_.at(follower).followed;
    if (complete_if_done(follower)) outcome.completed_disables.push_back(follower);
  }
}

bool PolicyEngine::complete_if_done(PolicyRuleId disable_rule) {
  const auto found = disabling_.find(disable_rule);
  const auto& [searching, next, ending, followed, followers] = found->second;
  if (searching || ending != 0 || followed != 0) return false;
  disabling_.erase(found);
  return true;
}

}  // namespace simco::policy
