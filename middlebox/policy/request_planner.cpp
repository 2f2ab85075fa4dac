// Makes the checks of RFC 4540 section 8 in its order, allocates addresses and ports, and plans the
// change. A part for each transaction.
#include "middlebox/policy/planned_change.hpp"

#include <algorithm>
#include <expected>
#include <variant>
#include <vector>

#include "middlebox/policy/rule_status.hpp"
#include "middlebox/policy/traffic.hpp"
#include "simco/wire/limits.hpp"

namespace simco::policy {

using rule::RuleChange;
using enum NegativeReplyCode;

namespace {

Parity wanted_parity(ReservedParity wanted) {
  switch (wanted) {
    case ReservedParity::kOdd: return Parity::kOdd;
    case ReservedParity::kEven: return Parity::kEven;
    case ReservedParity::kAny: break;
  }
  return Parity::kAny;
}

bool has_version(std::uint8_t versions, IpVersion version) {
  return (versions & static_cast<std::uint8_t>(version)) != 0;
}

/// Decides requests. Holds nothing but the book.
class RequestPlanner {
 public:
  explicit RequestPlanner(RuleBook& book) : book_(book) {}

  Plan plan(const RequestContext& context, const Body& request, Instant now) {
    Plan plan;
    plan.charged_to = context.agent;
    plan.verdict = decide(context, request, now, plan);
    plan.ids = book_.ids();
    return plan;
  }

 private:
  using Code = std::optional<NegativeReplyCode>;

  Verdict decide(const RequestContext& context, const Body& request, Instant now, Plan& plan) {
    const auto transaction = transaction_of(request);
    if (!transaction) return policy::refuse(plan, kTransactionNotSupported);
    plan.transaction = *transaction;
    if (const auto code = check_authority(context.agent, *transaction)) {
      return policy::refuse(plan, *code);
    }
    switch (*transaction) {
      case Transaction::kPrr: return reserve(context, std::get<PrrRequest>(request), now, plan);
      case Transaction::kPer: return enable(context, std::get<PerRequest>(request), now, plan);
      case Transaction::kPea:
        return enable_reserved(context, std::get<PeaRequest>(request), now, plan);
      case Transaction::kPdr: return disable(context, std::get<PdrRequest>(request), now, plan);
      case Transaction::kPlc:
        return change_lifetime(context, std::get<PlcRequest>(request), now, plan);
      case Transaction::kPrs:
        return report_status(context, std::get<PrsRequest>(request), now, plan);
      case Transaction::kPrl: return list_rules(context, now, plan);
    }
    return policy::refuse(plan, kTransactionNotSupported);
  }

  // --- Common checks -----------------------------------------------------------------------------

  Code check_authority(AgentId agent, Transaction transaction) const {
    const auto* policy = book_.agents[agent].policy;
    if (policy == nullptr || !policy->allows(transaction)) {
      return kAgentNotAuthorized;
    }
    return std::nullopt;
  }

  /// Refuses, or makes the request wait if a change under way may remove the cause.
  static Verdict refuse(const RequestContext& context, Plan& plan, NegativeReplyCode code) {
    switch (code) {
      case kNoResources:
      case kNoSuchGroup:
      case kAddressSpaceNotAvailable:
      case kLackOfAddresses:
      case kLackOfPorts:
      case kParityMismatch:
      case kConflict:
        if (!context.settled) return Verdict::kWaitForChanges;
        break;
      default: break;
    }
    return policy::refuse(plan, code);
  }

  Code check_group(const RequestContext& context, const std::optional<GroupId>& group) const {
    if (!group) return std::nullopt;
    const auto owner = book_.groups.owner(*group);
    // It may be gone when the changes of its members are decided.
    const bool may_end = !book_.groups.will_stay(*group) || book_.disable_rules.ending_any();
    if (!owner || (!context.settled && may_end)) return kNoSuchGroup;
    // RFC 5189 2.1.5: the rules of a group have the same owner, and a new rule is its agent's.
    if (*owner != context.agent) return kGroupAccessDenied;
    return std::nullopt;
  }

  // The checks of tuples in PER, PEA and PDR, in the order of 8.3.1. A wildcard that the agent may
  // not use does not exist for it (RFC 5189 4.2).
  Code check_pair(AgentId agent, const AddressTuple& internal, const AddressTuple& external,
                  Direction direction, const Capabilities& capabilities,
                  const Protocols& protocols) const {
    const AgentPolicy& policy = *book_.agents[agent].policy;
    if (!policy.allows(internal, external)) return kAgentNotAuthorized;
    if (!policy.restricts_wildcards()) {
      return check_tuples(internal, external, direction, capabilities, protocols);
    }
    Protocols supported = protocols;
    if (!policy.protocol_wildcards) supported.reset(kProtocolAny);
    return check_tuples(internal, external, direction, policy.capabilities(capabilities),
                        supported);
  }

  /// Returns the decision about an enable request that disable rules block, if they do.
  std::optional<Verdict> check_block(const RequestContext& context, const AddressTuple& internal,
                                     const AddressTuple& external, Plan& plan) const {
    const DisableRules::Block block = book_.disable_rules.block_on(internal, external);
    if (block.in_force) return refuse(context, plan, kConflict);
    if (block.pending == kNoSlot) return std::nullopt;
    plan.awaited = book_.rules[block.pending].pid;
    return Verdict::kWaitForRule;
  }

  /// Returns the change that a request about the rule in `slot` must wait for, if any.
  std::optional<Verdict> wait_for(RuleSlot slot, Plan& plan) const {
    const Rule& rule = book_.rules[slot];
    plan.awaited = rule.pid;
    if (rule.under_way) return Verdict::kWaitForRule;
    // An enable rule that a disable rule hits will end, should the backend accept that.
    if (!book_.disable_rules.pending() || rule.kind != RuleKind::kEnable) return std::nullopt;
    const DisableRules::Block block = book_.disable_rules.block_on(rule.internal, rule.external);
    if (block.pending == kNoSlot) return std::nullopt;
    plan.awaited = book_.rules[block.pending].pid;
    return Verdict::kWaitForRule;
  }

  /// True if the rule is over and only not removed yet: it has expired, or a disable rule has ended
  /// it and the backend may even have failed to remove it.
  bool has_ended(const Rule& rule, Instant now) const {
    if (rule.expires_at <= now) return true;
    return rule.kind == RuleKind::kEnable &&
           book_.disable_rules.block_on(rule.internal, rule.external).in_force;
  }

  Lifetime grant(const RequestContext& context, Lifetime requested) const {
    const AgentPolicy& policy = *book_.agents[context.agent].policy;
    return {std::min({requested.seconds, book_.capabilities.lifetime_max_s, policy.lifetime_max_s,
                      context.lifetime_max_s})};
  }

  // --- PRR (8.2) ---------------------------------------------------------------------------------

  // 8.2.1: each side has the requested version, and without protocol translation both are equal. An
  // open version is IPv4 if the middlebox has it.
  std::expected<IpVersion, NegativeReplyCode> choose_version(const PrrParameterSet& wanted) const {
    const auto inside = wanted.inside_version;
    const auto outside = wanted.outside_version;
    const auto any = RequestedIpVersion::kAny;
    if (inside != any && outside != any && inside != outside) {
      return std::unexpected(kIpVersionMismatch);
    }
    const auto versions = static_cast<std::uint8_t>(book_.capabilities.internal_versions &
                                                    book_.capabilities.external_versions);
    const auto asked = outside != any ? outside : inside;
    const bool ipv4 =
        asked == any ? has_version(versions, IpVersion::kIpv4) : asked == RequestedIpVersion::kIpv4;
    const auto version = ipv4 ? IpVersion::kIpv4 : IpVersion::kIpv6;
    if (!has_version(versions, version)) return std::unexpected(kIpVersionMismatch);
    return version;
  }

  /// Returns the IP version of the reservation.
  std::expected<IpVersion, NegativeReplyCode> check_reserve(const RequestContext& context,
                                                            const PrrRequest& request) const {
    using std::unexpected;
    const auto& wanted = request.parameters;
    if (const auto code = check_group(context, request.group)) return unexpected(*code);
    const AgentPolicy& policy = *book_.agents[context.agent].policy;
    if (!policy.allows_protocol(wanted.protocol)) return unexpected(kAgentNotAuthorized);
    const bool any_protocol = wanted.protocol == kProtocolAny;
    const auto version = choose_version(wanted);
    if (!version) return version;
    if (any_protocol) {
      if (!policy.protocol_wildcards) return unexpected(kWildcardingNotSupported);
    } else {
      if (!book_.translated[wanted.protocol]) return unexpected(kProtocolNotSupported);
      if (wanted.port_range == 0) return unexpected(kIllegalPortRange);
    }
    // 8.2.1: refuses reservations that no PEA could use.
    if (book_.disable_rules.blocks_everything(*version, wanted.protocol)) {
      return unexpected(kAddressSpaceNotAvailable);
    }
    return version;
  }

  Verdict reserve(const RequestContext& context, const PrrRequest& request, Instant now,
                  Plan& plan) {
    const auto version = check_reserve(context, request);
    if (!version) return refuse(context, plan, version.error());
    const Lifetime lifetime = grant(context, request.lifetime);
    if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
    // 8.2.3, after all that 8.2.1 has.
    const auto needed =
        book_.nat.mode() == Mode::kTwiceNat ? NatMode::kTwice : NatMode::kTraditional;
    if (book_.nat.translates() && request.parameters.nat_mode != needed) {
      return refuse(context, plan, kNatModeNotSupported);
    }
    if (!book_.quotas.allow_rule(context.agent)) return refuse(context, plan, kNoResources);
    const auto& wanted = request.parameters;
    const RuleSlot slot = book_.create(context, RuleKind::kReserve, request.group);
    Rule& rule = book_.rules[slot];
    rule.internal = rule.external = any_address(*version, wanted.protocol);
    rule.any_version = !book_.nat.translates() &&
                       wanted.inside_version == RequestedIpVersion::kAny &&
                       wanted.outside_version == RequestedIpVersion::kAny;
    if (book_.nat.translates()) {
      const NatTable::Reservation reservation{*version, wanted.protocol, wanted.port_range,
                                              wanted_parity(wanted.parity)};
      if (const auto code = book_.nat.take(slot, reservation)) {
        book_.destroy(slot);
        return refuse(context, plan, *code);
      }
    }
    return plan_addition(book_, slot, lifetime, now, plan);
  }

  // --- PER and PEA (8.3, 8.4) --------------------------------------------------------------------

  Verdict enable(const RequestContext& context, const PerRequest& request, Instant now,
                 Plan& plan) {
    const auto agent = context.agent;
    if (const auto code = check_group(context, request.group)) return refuse(context, plan, *code);
    if (const auto code =
            check_pair(agent, request.internal, request.external, request.parameters.direction,
                       book_.capabilities, book_.translated)) {
      return refuse(context, plan, *code);
    }
    if (const auto verdict = check_block(context, request.internal, request.external, plan)) {
      return *verdict;
    }
    const Lifetime lifetime = grant(context, request.lifetime);
    if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
    if (!book_.quotas.allow_rule(agent)) return refuse(context, plan, kNoResources);
    const auto elements = book_.elements_for(request.internal, request.external);
    if (!book_.quotas.allow_elements(agent, elements)) {
      return refuse(context, plan, kNoResources);
    }
    const RuleSlot slot = book_.create(context, RuleKind::kEnable, request.group);
    Rule& rule = book_.rules[slot];
    rule.internal = request.internal;
    rule.external = request.external;
    rule.parameters = request.parameters;
    book_.quotas.set_elements(slot, elements);
    if (book_.nat.translates()) {
      const bool wait = !context.settled && book_.nat.awaits_adoption(rule);
      const auto code = wait ? Code(kLackOfPorts) : book_.nat.take(slot, rule);
      if (code) {
        book_.destroy(slot);
        return refuse(context, plan, *code);
      }
    }
    return plan_addition(book_, slot, lifetime, now, plan);
  }

  // The enabled tuples must be the reserved ones, which the reply reports (8.4.3).
  Code check_reservation(RuleSlot slot, const PeaRequest& request) const {
    const Rule& rule = book_.rules[slot];
    const bool protocol = rule.internal.protocol == request.internal.protocol;
    const bool version = rule.internal.ip_version == request.internal.ip_version;
    // 8.2.2: a firewall holds nothing, so open versions and protocols are still open.
    const bool any_protocol = !book_.nat.translates() && rule.internal.protocol == kProtocolAny;
    if (!protocol && !any_protocol) return kProtocolMismatch;
    if (!version && !rule.any_version) return kIpVersionMismatch;
    if (!book_.nat.translates()) return std::nullopt;
    return book_.nat.check_reserved(slot, request.internal, request.external, request.parameters);
  }

  Verdict enable_reserved(const RequestContext& context, const PeaRequest& request, Instant now,
                          Plan& plan) {
    const RuleSlot slot = book_.find_visible(request.pid);
    if (slot == kNoSlot) return refuse(context, plan, kNoSuchRule);
    Rule& rule = book_.rules[slot];
    if (const auto wait = wait_for(slot, plan)) return *wait;
    if (has_ended(rule, now)) return refuse(context, plan, kNoSuchRule);
    if (rule.kind != RuleKind::kReserve) return refuse(context, plan, kInconsistentRequest);
    if (!book_.may_change(context.agent, rule.owner))
      return refuse(context, plan, kRuleAccessDenied);
    if (const auto code =
            check_pair(context.agent, request.internal, request.external,
                       request.parameters.direction, book_.capabilities, book_.translated)) {
      return refuse(context, plan, *code);
    }
    if (const auto code = check_reservation(slot, request)) return refuse(context, plan, *code);
    if (const auto verdict = check_block(context, request.internal, request.external, plan)) {
      return *verdict;
    }
    const Lifetime lifetime = grant(context, request.lifetime);
    if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
    const auto elements = book_.elements_for(request.internal, request.external);
    if (!book_.quotas.allow_elements(rule.owner, elements)) {
      return refuse(context, plan, kNoResources);
    }
    book_.quotas.set_elements(slot, elements);
    book_.enabling.emplace(slot, rule.internal);
    rule.internal = request.internal;
    rule.external = request.external;
    rule.parameters = request.parameters;
    book_.begin_change(slot);
    if (book_.nat.translates()) book_.nat.plan_adoption(slot, rule);
    book_.expiry.remove(slot);
    return plan_change(book_, slot, rule::RuleChange::Kind::kReplace, lifetime,
                       now + std::chrono::seconds(lifetime.seconds), plan);
  }

  // --- PDR (8.8) ---------------------------------------------------------------------------------

  Verdict disable(const RequestContext& context, const PdrRequest& request, Instant now,
                  Plan& plan) {
    const auto agent = context.agent;
    if (const auto code = check_pair(agent, request.internal, request.external, Direction::kInbound,
                                     book_.filter_capabilities, book_.protocols)) {
      return refuse(context, plan, *code);
    }
    const Lifetime lifetime = grant(context, request.lifetime);
    if (lifetime == Lifetime{0}) return refuse(context, plan, kConfigurationFailed);
    if (!book_.quotas.allow_rule(agent)) return refuse(context, plan, kNoResources);
    const auto elements = elements_of(request.internal, request.external, 0);
    if (!book_.quotas.allow_elements(agent, elements)) {
      return refuse(context, plan, kNoResources);
    }
    const RuleSlot slot = book_.create(context, RuleKind::kDisable, std::nullopt);
    book_.rules[slot].internal = request.internal;
    book_.rules[slot].external = request.external;
    book_.quotas.set_elements(slot, elements);
    book_.disable_rules.plan(slot);
    return plan_addition(book_, slot, lifetime, now, plan);
  }

  // --- PLC (8.5) ---------------------------------------------------------------------------------

  Verdict change_lifetime(const RequestContext& context, const PlcRequest& request, Instant now,
                          Plan& plan) {
    const RuleSlot slot = book_.find_visible(request.pid);
    if (slot == kNoSlot) return policy::refuse(plan, kNoSuchRule);
    Rule& rule = book_.rules[slot];
    if (const auto wait = wait_for(slot, plan)) return *wait;
    if (has_ended(rule, now)) return policy::refuse(plan, kNoSuchRule);
    if (!book_.may_change(context.agent, rule.owner))
      return policy::refuse(plan, kRuleAccessDenied);
    const Lifetime lifetime = grant(context, request.lifetime);
    const bool ends = lifetime == Lifetime{0};
    const Instant expires_at = now + std::chrono::seconds(lifetime.seconds);
    if (expires_at > rule.expires_at && !book_.agents[context.agent].policy->may_extend && !ends) {
      return policy::refuse(plan, kLifetimeNotExtendable);
    }
    book_.begin_change(slot);
    if (ends) mark_removal(book_, slot);
    // While its end is being decided it must not end a second time.
    book_.expiry.remove(slot);
    return plan_change(book_, slot,
                       ends ? RuleChange::Kind::kRemove : RuleChange::Kind::kSetLifetime, lifetime,
                       expires_at, plan);
  }

  // --- PRS and PRL (8.6, 8.7) --------------------------------------------------------------------

  Verdict report_status(const RequestContext& context, const PrsRequest& request, Instant now,
                        Plan& plan) const {
    const RuleSlot slot = book_.find_visible(request.pid);
    if (slot == kNoSlot) return policy::refuse(plan, kNoSuchRule);
    const Rule& rule = book_.rules[slot];
    // A status right after a change of the same session includes that change.
    if (const auto wait = wait_for(slot, plan)) return *wait;
    if (rule.expires_at <= now || book_.disable_rules.will_end(rule))
      return policy::refuse(plan, kNoSuchRule);
    if (!book_.may_see(context.agent, rule.owner)) return policy::refuse(plan, kRuleAccessDenied);
    plan.reply = status_reply(book_, slot, now);
    return Verdict::kReplied;
  }

  Verdict list_rules(const RequestContext& context, Instant now, Plan& plan) const {
    if (!context.settled) return Verdict::kWaitForChanges;
    std::vector<AgentId> owners{context.agent};
    if (book_.agents[context.agent].policy->sees_others()) {
      book_.agents.for_each([&](AgentId owner) {
        if (owner != context.agent && book_.may_see(context.agent, owner)) owners.push_back(owner);
      });
    }
    // Decided by the counts alone: iterating over thousands of rules for a refusal of eight octets
    // would delay all others. Rules that are just ending count.
    std::size_t count = 0;
    for (const AgentId owner : owners) count += book_.agents[owner].live_count;
    if (count > kRuleListMax) return policy::refuse(plan, kReplyTooBig);
    PrlReply list;
    list.pids.reserve(count);
    for (const AgentId owner : owners) {
      for (RuleSlot slot = book_.agents[owner].rules.first; slot != kNoSlot;
           slot = book_.rules[slot].by_owner.next) {
        // A rule that a disable rule ends may still have another change under way.
        const bool over =
            book_.rules[slot].expires_at <= now || book_.disable_rules.ended_by(slot).has_value();
        if (!over) list.pids.push_back(book_.rules[slot].pid);
      }
    }
    plan.reply = std::move(list);
    return Verdict::kReplied;
  }

  RuleBook& book_;
};

}  // namespace

Plan plan_request(RuleBook& book, const RequestContext& context, const Body& request, Instant now) {
  return RequestPlanner(book).plan(context, request, now);
}

}  // namespace simco::policy
