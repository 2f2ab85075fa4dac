// The entries of rules, in the tables of both IP versions.
#pragma once

#include <vector>

#include "middlebox/backend/fastpath/entry.hpp"
#include "middlebox/backend/fastpath/slot_table.hpp"
#include "middlebox/rule/rule_record.hpp"
#include "middlebox/rule/rule_traffic.hpp"
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
  /// The host has these addresses now, and no others: packets that arrive from one of them are left
  /// to the backend, which knows what to do with them. An entry that is there and is about such
  /// packets ends; one whose address goes comes with its rule's next put() if it was not there.
  void set_own(std::vector<IpPrefix> own);
  /// The rule is enforced no longer.
  void take_out(const rule::RuleRecord& rule, Instant now);
  /// Leaves what other rules say as well to the backend, which counts it for each of them: takes
  /// these packets from the others. To be called before the rule is enforced.
  void leave_shared(const rule::RuleRecord& rule, Instant now);
  /// Adds what was forwarded for the rule.
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
  std::vector<Entry> entries_;  // scratch, as the next one
  std::vector<SlotTable<fp_slot4>::Cell> cells_;
};

}  // namespace simco::backend::fastpath
