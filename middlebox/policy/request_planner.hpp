// Decides requests: PRR, PER, PEA, PDR, PLC, PRS and PRL (RFC 4540 section 8).
#pragma once

#include <optional>

#include "middlebox/policy/plan.hpp"
#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

/// Plans the changes of requests. Holds nothing but the book.
class RequestPlanner {
 public:
  explicit RequestPlanner(RuleBook& book) : book_(book) {}

  Plan plan(const RequestContext& context, const Body& request, Instant now);

 private:
  using Code = std::optional<NegativeReplyCode>;

  Verdict decide(const RequestContext& context, const Body& request, Instant now, Plan& plan);

  Code check_authority(AgentId agent, Transaction transaction) const;
  Code check_group(const RequestContext& context, const std::optional<GroupId>& group) const;
  Code check_pair(AgentId agent, const AddressTuple& internal, const AddressTuple& external,
                  Direction direction, const Capabilities& capabilities,
                  const Protocols& protocols) const;
  /// Returns the decision about an enable request that disable rules block, if they do.
  std::optional<Verdict> check_block(const RequestContext& context, const AddressTuple& internal,
                                     const AddressTuple& external, Plan& plan) const;
  /// Returns the change that a request about the rule in `slot` must wait for, if any.
  std::optional<Verdict> wait_for(RuleSlot slot, Plan& plan) const;
  /// True if the rule is over and only not removed yet: it has expired, or a disable rule has ended
  /// it and the backend may even have failed to remove it.
  bool has_ended(const Rule& rule, Instant now) const;
  Lifetime grant(const RequestContext& context, Lifetime requested) const;
  /// Refuses, or makes the request wait if a change under way may remove the cause.
  static Verdict refuse(const RequestContext& context, Plan& plan, NegativeReplyCode code);

  Code choose_version(const PrrParameterSet& wanted, IpVersion& version) const;
  Code check_reserve(const RequestContext& context, const PrrRequest& request) const;
  Verdict reserve(const RequestContext& context, const PrrRequest& request, Instant now,
                  Plan& plan);
  Verdict enable(const RequestContext& context, const PerRequest& request, Instant now, Plan& plan);
  Code check_reservation(RuleSlot slot, const PeaRequest& request) const;
  Verdict enable_reserved(const RequestContext& context, const PeaRequest& request, Instant now,
                          Plan& plan);
  Verdict disable(const RequestContext& context, const PdrRequest& request, Instant now,
                  Plan& plan);
  Verdict change_lifetime(const RequestContext& context, const PlcRequest& request, Instant now,
                          Plan& plan);
  Verdict report_status(const RequestContext& context, const PrsRequest& request, Instant now,
                        Plan& plan) const;
  Verdict list_rules(const RequestContext& context, Instant now, Plan& plan) const;

  RuleBook& book_;
};

}  // namespace simco::policy
