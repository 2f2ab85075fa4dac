// The entries of rules, in the tables of both IP versions.
#pragma once

#include <vector>

#include "middlebox/backend/fastpath/slot_table.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/ip.hpp"

namespace simco::backend::fastpath {

/// For one thread.
class RuleTable {
 public:
  RuleTable(SlotTable<fp_slot4> table4, SlotTable<fp_slot6> table6)
      : table4_(table4), table6_(table6) {}

  /// The rule is enforced until it expires: takes its entries, all at once, and those that are
  /// there already expire when it does.
  void put(const rule::RuleRecord& rule, Instant now);
  /// The host has these addresses now, and no others: packets that arrive from them are left to the
  /// backend. Entries about such packets end; an entry that could not be made comes with its rule's
  /// next put() when the address is gone.
  void set_own(std::vector<IpPrefix> own);
  /// The rule is enforced no longer.
  void take_out(const rule::RuleRecord& rule, Instant now);
  /// Leaves packets of several rules to the backend, which counts them for each rule: takes these
  /// packets from the others. To be called before the rule is enforced.
  void leave_shared(const rule::RuleRecord& rule, Instant now);
  /// Adds the packets forwarded for the rule.
  void add_traffic(const rule::RuleRecord& rule, Instant now, rule::RuleTraffic& traffic);

 private:
  /// Calls `act` with the table of each entry of the rule, and the entry.
  template <class Act>
  void for_each_entry(const rule::RuleRecord& rule, Act act);

  /// Whether packets of the entry arrive from an address of this host.
  bool is_from_here(const Entry& entry) const;

  std::vector<IpPrefix> own_;
  SlotTable<fp_slot4> table4_;
  SlotTable<fp_slot6> table6_;
  std::vector<Entry> entries_;  // scratch, as the next member
  std::vector<SlotTable<fp_slot4>::Cell> cells_;
};

}  // namespace simco::backend::fastpath
