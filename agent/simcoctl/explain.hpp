// simcoctl explain: what the middlebox does with a packet, and why, from the rules that the agent
// may see. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/agent.hpp"
#include "simco/packet/rule_match.hpp"

namespace simco::ctl {

/// explain INTERNAL EXTERNAL
struct Explain {
  packet::Packet packet;
  bool inbound = true;  ///< it comes from the external side
};

/// What becomes of a packet.
struct Explanation {
  enum class Verdict : std::uint8_t {
    kPasses,   ///< an enable rule lets it pass
    kBlocked,  ///< a disable rule blocks it
    kDropped,  ///< no rule that can be seen lets it pass
  };
  Verdict verdict = Verdict::kDropped;
  std::optional<PolicyRuleId> rule;      ///< that decides
  std::string reason;                    ///< a sentence
  std::vector<std::string> near_misses;  ///< rules that differ in one point, and in which
  std::vector<std::string> not_known;    ///< what could make it otherwise, and cannot be seen
};

/// Explains `wanted` by `rules`, which are those that the agent may see.
Explanation explain(const Explain& wanted, const std::vector<agent::RuleStatus>& rules);

}  // namespace simco::ctl
