// Disable rules (RFC 4540 section 8.8): the traffic that they block, and the enable rules that they
// end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "middlebox/policy/expiry_queue.hpp"
#include "middlebox/policy/overlap_index.hpp"
#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

/// A step in the search for the enable rules that a disable rule hits.
struct DisableStep {
  std::uint32_t looked = 0;  ///< cost of the step: rules that it looked at
  std::uint32_t ended = 0;   ///< rules that it ended: they are now due
  bool found_all = false;    ///< the search is over
  bool completed = false;    ///< the disable rule waits for nothing more: its PDR can be answered
};

/// All disable rules, and the confirmed enable rules, which they can end. A disable rule that the
/// backend has not confirmed is pending: it decides nothing yet. Not thread-safe.
class DisableRules {
 public:
  /// The disable rules that overlap with some traffic.
  struct Block {
    bool in_force = false;       ///< a confirmed rule blocks it
    RuleSlot pending = kNoSlot;  ///< a pending rule that blocks it
  };
  /// The effect of an enable rule's end on the disable rules.
  struct Ended {
    PolicyRuleId by;                      ///< the disable rule that ended it; 0: none
    std::vector<PolicyRuleId> completed;  ///< those that wait for nothing more
  };

  /// A search scans at most `scan_max` entries of the index before it looks at all rules.
  DisableRules(RuleTable& rules, ExpiryQueue& expiry, std::uint32_t scan_max)
      : rules_(rules), expiry_(expiry), scan_max_(scan_max) {}

  // --- Enable rules ---

  /// The enable rule in `slot` is confirmed.
  void add_enabled(RuleSlot slot) { enabled_.insert(slot, traffic(slot)); }
  /// It has ended.
  void remove_enabled(RuleSlot slot) { enabled_.erase(slot, traffic(slot)); }
  /// Returns a confirmed enable rule, other than that with `pid`, for some packets of the traffic
  /// between two tuples, or kNoSlot.
  RuleSlot enabled_overlap(const AddressTuple& internal, const AddressTuple& external,
                           PolicyRuleId pid) const;

  // --- The life of a disable rule ---

  /// The disable rule in `slot` is planned. From here on no enable rule is planned that it hits.
  void plan(RuleSlot slot);
  /// The backend has refused it.
  void withdraw(RuleSlot slot);
  /// It is in force. Returns true if search() must look for rules that it overlaps: until then it
  /// is under way, so that neither its lifetime nor a PLC ends it.
  bool confirm(RuleSlot slot);
  /// From now on, while `hold`, no disable rule looks for what it hits: another middlebox does.
  void hold_searches(bool hold) { held_ = hold; }
  /// It has been confirmed while searches were held. Returns as confirm().
  bool begin_search(RuleSlot slot);
  /// It has ended.
  void remove(RuleSlot slot) { file(slot, false); }
  bool pending() const { return pending_ != 0; }
  /// True if enable rules may be about to end because of a disable rule.
  bool ending_any() const { return pending_ != 0 || !ending_.empty(); }

  // --- Blocking ---

  Block block_on(const AddressTuple& internal, const AddressTuple& external) const;
  /// Returns a disable rule, pending or not, that hits the traffic between two tuples, or kNoSlot.
  RuleSlot blocker(const AddressTuple& internal, const AddressTuple& external) const;
  /// True if nothing of that version and protocol can be enabled.
  bool blocks_everything(IpVersion version, std::uint8_t protocol) const;
  /// True if a disable rule that is still looking for them will end the rule.
  bool will_end(const Rule& rule) const {
    return searches_ != 0 && rule.kind == RuleKind::kEnable &&
           block_on(rule.internal, rule.external).in_force;
  }

  // --- Ending ---

  /// Goes on looking for the enable rules that the disable rule `pid` hits, and ends them: as if
  /// their lifetime were over. Looks at about `looks` rules at most.
  DisableStep search(PolicyRuleId pid, std::uint32_t looks, Instant now);
  /// Returns the disable rule that is ending the rule in `slot`, if any.
  std::optional<PolicyRuleId> ended_by(RuleSlot slot) const;
  /// The rule in `slot` has ended, for any cause.
  Ended note_ended(RuleSlot slot);

  // --- Figures ---

  std::size_t size() const { return blocking_.size(); }
  std::uint32_t searches() const { return searches_; }
  /// Asserts that redundant counts agree.
  void check_counts() const;

 private:
  /// A disable rule whose PDR cannot be answered yet.
  struct Ending {
    bool searching = true;
    std::optional<std::uint32_t>
        next_slot;               ///< to be looked at; nullopt before the index was asked
    std::uint32_t ending = 0;    ///< enable rules that it is ending
    std::uint32_t followed = 0;  ///< disable rules that have it as a follower
    /// Disable rules that hit some of those too. They wait until all that it is ending have ended,
    /// not for its own search: it may wait for a follower in the same way.
    std::vector<PolicyRuleId> followers;
  };

  Traffic traffic(RuleSlot slot) const;
  bool hits(const Traffic& traffic, RuleSlot slot) const;
  void file(RuleSlot slot, bool in);
  DisableStep look(Ending& ending, const Traffic& traffic, std::uint32_t looks);
  bool end(RuleSlot slot, PolicyRuleId pid, Ending& ending, Instant now);
  bool complete_if_done(PolicyRuleId pid);

  RuleTable& rules_;
  ExpiryQueue& expiry_;
  std::uint32_t scan_max_;
  OverlapIndex enabled_;   ///< confirmed enable rules
  OverlapIndex blocking_;  ///< disable rules, pending ones included
  std::uint32_t pending_ = 0;
  bool held_ = false;  ///< no searches
  /// Number of disable rules that block everything, by IP version and protocol.
  std::unordered_map<std::uint16_t, std::uint32_t> total_blocks_;
  /// Enable rules that are being ended, and the disable rule that does it.
  std::unordered_map<RuleSlot, PolicyRuleId> ended_by_;
  std::unordered_map<PolicyRuleId, Ending> ending_;
  std::uint32_t searches_ = 0;   ///< disable rules that are searching
  std::vector<RuleSlot> found_;  ///< scratch
};

}  // namespace simco::policy
