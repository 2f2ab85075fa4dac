// simcoctl explain: the middlebox's treatment of a packet, and the reason, from the rules that the
// agent may see. No I/O.
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

/// The verdict for a packet.
struct Explanation {
  enum class Verdict : std::uint8_t {
    kPasses,   ///< an enable rule lets it pass
    kBlocked,  ///< a disable rule blocks it
    kDropped,  ///< no rule that can be seen lets it pass
  };
  Verdict verdict = Verdict::kDropped;
  std::optional<PolicyRuleId> rule;      ///< that decides
  std::string reason;                    ///< a sentence
  std::vector<std::string> near_misses;  ///< rules that differ in a single point, and that point
  std::vector<std::string> not_known;    ///< unknown facts that could change the verdict
};

/// Explains `wanted` by `rules`, which are those that the agent may see.
Explanation explain(const Explain& wanted, const std::vector<agent::RuleStatus>& rules);

}  // namespace simco::ctl
