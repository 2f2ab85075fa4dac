// PDR (RFC 4540 section 8.8): blocks traffic, and ends the enable rules that overlap.
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

// They are ended as if their lifetime were over: in bounded steps, each with its event, and found
// again should the backend fail to remove one. The disable rule is in force already.
bool PolicyEngine::end_disabled_rules(RuleSlot slot, Instant now) {
  const Rule& disable_rule = rules_[slot];
  const auto traffic = traffic_of(disable_rule.internal, disable_rule.external);
  overlapping_.clear();
  enable_rules_.find_all(
      traffic,
      [&](RuleSlot other) {
        const Rule& rule = rules_[other];
        return overlap(traffic, traffic_of(rule.internal, rule.external));
      },
      overlapping_);
  std::uint32_t awaited = 0;
  for (const RuleSlot other : overlapping_) {
    const auto [ended_by, is_first] = ended_by_.try_emplace(other, disable_rule.pid);
    if (!is_first) {
      auto& followers = disabling_.at(ended_by->second).followers;
      if (!followers.empty() && followers.back() == disable_rule.pid) continue;
      followers.push_back(disable_rule.pid);
      ++awaited;
      continue;
    }
    ++awaited;
    Rule& rule = rules_[other];
    if (rule.under_way) continue;  // what becomes of that change, it will end
    expiry_.remove(other);
    rule.expires_at = now - kExpiryTick;
    expiry_.add(other);
  }
  if (awaited != 0) disabling_[disable_rule.pid].awaited = awaited;
  return awaited != 0;
}

}  // namespace simco::policy
