// Why a request or a change was refused, for the log, as far as the rules decide it.
#pragma once

#include <string>

#include "middlebox/policy/rule_book.hpp"

namespace simco::policy {

/// Puts reasons into words. Holds nothing but the book.
class Reasons {
 public:
  explicit Reasons(const RuleBook& book) : book_(book) {}

  /// Returns why `request` has just been refused with `code`: which right, limit or rule; empty if
  /// the code says it all. Must be called before anything changes.
  std::string of(const RequestContext& context, const Body& request, NegativeReplyCode code) const;
  /// Returns why a planned change was not carried out. After it is settled.
  std::string of(const rule::RuleChange& change, rule::ChangeResult result) const;

 private:
  std::string rule_text(RuleSlot slot) const;
  std::string blocked_by(const AddressTuple& internal, const AddressTuple& external) const;
  std::string exhausted(AgentId id, const Body& request) const;
  std::string no_authority(AgentId id, const Body& request) const;
  std::string no_access(AgentId id, const Body& request, PolicyRuleId pid) const;
  std::string about_rule(NegativeReplyCode code, PolicyRuleId pid) const;

  const RuleBook& book_;
};

}  // namespace simco::policy
