// The table of the fast path for one IP version: which slot an entry goes to, and when it becomes
// live and ends (slot.h says how slots are searched). No I/O, no clock; the memory may be shared
// with the XDP program.
//
// An entry belongs to one rule. If another rule says the same, or there is no room within a
// search's length, the entry is not taken, and nftables decides about its packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "middlebox/backend/fastpath/entry.hpp"
#include "middlebox/backend/fastpath/slot.h"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::fastpath {

/// `Slot`: fp_slot4 or fp_slot6. For one thread.
template <class Slot>
class SlotTable {
 public:
  /// When a half of a slot expires, as the program reads it.
  using Cell = decltype(&Slot::expires[0]);

  SlotTable() = default;
  /// `slots`: zeroes; searches begin at all but the last FP_PROBES_MAX of them. `seed`: a secret.
  SlotTable(std::span<Slot> slots, std::uint64_t seed) : slots_(slots), seed_(seed) {}

  /// Makes a place for an entry of rule `pid`, which lets nothing pass before begin(), or returns
  /// the one that it has. Returns nullptr if the entry is not taken.
  Cell prepare(const Entry& entry, PolicyRuleId pid, Instant now);
  /// Lets packets pass until `end`.
  static void begin(Cell cell, Instant end);
  /// Ends the entry of rule `pid`, if it was taken.
  void end(const Entry& entry, PolicyRuleId pid, Instant now);

 private:
  using Ends = decltype(Slot::ends);

  Slot* chain(const Ends& ends);
  /// Returns whether the half can be about `entry` without a reader seeing parts of both.
  static bool can_take(const Slot& slot, const Entry& entry, std::int64_t now);
  static void write(Slot& slot, const Entry& entry, const Ends& ends, PolicyRuleId pid,
                    std::int64_t now, bool whole);
  /// Ends searches before the slot, if they need not go further.
  void shorten(std::size_t index);

  std::span<Slot> slots_;
  std::uint64_t seed_ = 0;
};

extern template class SlotTable<fp_slot4>;
extern template class SlotTable<fp_slot6>;

}  // namespace simco::backend::fastpath
