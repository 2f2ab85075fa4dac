// The table of the fast path for an IP version: the slots of entries, and their begin and end
// (slot.h has the search). No I/O, no clock; the memory may be shared with the XDP program.
//
// An entry belongs to a single rule. If another rule says the same, or there is no room within a
// search's length, the entry is not taken, and nftables decides about its packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "middlebox/backend/fastpath/slot.h"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/packet_count.hpp"

namespace simco::backend::fastpath {

/// An address, in network order (IPv4 has the first four octets), and a port.
struct End {
  std::array<std::byte, 16> address{};
  std::uint16_t port = 0;
  friend bool operator==(const End&, const End&) = default;
};

/// An entry of the fast path, port by port: packets of UDP or UDP-Lite between two ends.
struct Entry {
  IpVersion version = IpVersion::kIpv4;
  std::uint8_t protocol = 0;
  std::uint8_t ways = 0;  ///< FP_INBOUND, FP_OUTBOUND or both
  End internal;           ///< the end on the internal side, as packets have it when they arrive
  End external;
  bool translates = false;
  End to_internal;  ///< the translated ends, if it translates
  End to_external;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Appends the entries of `rule` to `entries`; none if the rule is left to nftables: because it is
/// no enable rule, has wildcards, another protocol, more than kPortsMax ports, or an address that
/// no router forwards.
void make_entries(const rule::RuleRecord& rule, std::vector<Entry>& entries);

/// The counts of an entry.
struct Tally {
  PacketCount count;
  Instant last;  ///< by the kernel's clock of ticks; not set without packets
};

/// `Slot`: fp_slot4 or fp_slot6. For one thread.
template <class Slot>
class SlotTable {
 public:
  /// When a half of a slot expires, as the program reads it.
  using Cell = decltype(&Slot::expires[0]);

  SlotTable() = default;
  /// `slots`: zeroes; searches begin at all but the last FP_PROBES_MAX of them. `seed`: a secret.
  /// `tallies`: as many zeroes, if the program counts by rule.
  SlotTable(std::span<Slot> slots, std::uint64_t seed, std::span<fp_tally> tallies = {})
      : slots_(slots), tallies_(tallies), seed_(seed) {}

  /// Makes a place for an entry of rule `pid`, which lets nothing pass before begin(), or returns
  /// its place. Returns nullptr if the entry is not taken.
  Cell prepare(const Entry& entry, PolicyRuleId pid, Instant now);
  /// Lets packets pass until `end`.
  static void begin(Cell cell, Instant end);
  /// Ends the entry of rule `pid`, if it was taken.
  void end(const Entry& entry, PolicyRuleId pid, Instant now);
  /// If another rule than `pid` has the entry, it lets nothing pass any longer, for as long as that
  /// rule has it.
  void suspend(const Entry& entry, PolicyRuleId pid, Instant now);
  /// Entries about which `is_meant` returns true let nothing pass any longer, for as long as their
  /// rules have them. It is told the version, ends as they arrive, and ways of each entry. Looks at
  /// the whole table.
  void suspend_if(const std::function<bool(const Entry&)>& is_meant);
  /// Returns the counts since rule `pid` took the entry, if it was taken and is counted.
  std::optional<Tally> tally(const Entry& entry, PolicyRuleId pid);

 private:
  using Ends = decltype(Slot::ends);

  Slot* chain(const Ends& ends);
  /// Returns whether the half can be about `entry` without a reader seeing parts of both.
  static bool can_take(const Slot& slot, const Entry& entry, std::int64_t now);
  void write(Slot& slot, const Entry& entry, const Ends& ends, PolicyRuleId pid, std::int64_t now,
             bool whole);
  /// Begins to count for rule `pid`, unless the half is that rule's already.
  void count_for(Slot& slot, std::size_t half, PolicyRuleId pid);
  std::size_t index_of(const Slot& slot) const {
    return static_cast<std::size_t>(&slot - slots_.data());
  }
  /// Calls `visit` with each slot of the entry's ends that a search finds, until it returns true.
  template <class Visit>
  void search(const Entry& entry, Visit visit);
  /// Ends searches before the slot, if they need not go further.
  void shorten(std::size_t index);

  std::span<Slot> slots_;
  std::span<fp_tally> tallies_;
  std::uint64_t seed_ = 0;
};

extern template class SlotTable<fp_slot4>;
extern template class SlotTable<fp_slot6>;

}  // namespace simco::backend::fastpath
