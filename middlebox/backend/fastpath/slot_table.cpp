// Linear probing. A slot that is over ends no search while a slot behind it is in use.
#include "middlebox/backend/fastpath/slot_table.hpp"

#include <atomic>
#include <cstring>
#include <type_traits>

namespace simco::backend::fastpath {
namespace {

static_assert(sizeof(fp_slot4) == 64, "a line of the cache");
static_assert(sizeof(fp_slot6) == 128 && offsetof(fp_slot6, to_internal) == 64,
              "without translation, a line of the cache");

constexpr unsigned kBothWays = FP_INBOUND | FP_OUTBOUND;

/// Taken, and over for readers: a moment that is long past. Until begin(), or suspended.
constexpr __s64 kPrepared = 1;

std::size_t half_of(const Entry& entry) { return entry.internal.port % 2; }
constexpr std::uint16_t even(std::uint16_t port) { return static_cast<std::uint16_t>(port & ~1U); }

template <class Field>
void put_address(const End& end, Field& field) {
  std::memcpy(&field, end.address.data(), sizeof field);
}
template <class Field>
void get_address(const Field& field, End& end) {
  std::memcpy(end.address.data(), &field, sizeof field);
}
template <class Field>
bool is_address(const End& end, const Field& field) {
  return std::memcmp(&field, end.address.data(), sizeof field) == 0;
}

template <class Ends>
Ends ends_of(const Entry& entry) {
  Ends ends{};
  put_address(entry.internal, ends.internal);
  put_address(entry.external, ends.external);
  ends.internal_port = even(entry.internal.port);
  ends.external_port = even(entry.external.port);
  ends.protocol = entry.protocol;
  ends.crossed = (entry.internal.port ^ entry.external.port) & 1;
  return ends;
}

/// Of the packet; a slot's own bits are not compared.
template <class Ends>
bool same(const Ends& a, const Ends& b) {
  return std::memcmp(&a, &b, offsetof(Ends, used)) == 0;
}

template <class Slot>
constexpr IpVersion kVersionOf =
    std::is_same_v<Slot, fp_slot4> ? IpVersion::kIpv4 : IpVersion::kIpv6;

std::int64_t count_ns(Instant instant) { return instant.time_since_epoch().count(); }

/// A tick that lets the stack be shown the first packet of a rule that begins now: a tick more than
/// needed, as the program's clock lags.
std::uint16_t long_ago(std::int64_t now) {
  return static_cast<std::uint16_t>((now >> FP_TICK_BITS) - FP_SHOW_TICKS - 1);
}

bool half_rested(std::int64_t cell, std::int64_t now) {
  return cell == 0 || (cell < 0 && -cell + FP_REST_NS <= now);
}
template <class Slot>
bool rested(const Slot& slot, std::int64_t now) {
  return half_rested(slot.expires[0], now) && half_rested(slot.expires[1], now);
}
template <class Slot>
bool dead(const Slot& slot) {
  return slot.expires[0] <= 0 && slot.expires[1] <= 0;
}

template <class Field>
void publish(Field& field, Field value) {
  std::atomic_ref(field).store(value, std::memory_order_release);
}
template <class Field>
Field read(Field& field) {
  return std::atomic_ref(field).load(std::memory_order_relaxed);
}

std::uint32_t place_of(const fp_ends4& ends, std::uint64_t seed, std::uint32_t places) {
  return fp_place4(&ends, seed, places);
}
std::uint32_t place_of(const fp_ends6& ends, std::uint64_t seed, std::uint32_t places) {
  return fp_place6(&ends, seed, places);
}

}  // namespace

template <class Slot>
Slot* SlotTable<Slot>::chain(const Ends& ends) {
  const auto places = static_cast<std::uint32_t>(slots_.size()) - FP_PROBES_MAX;
  return &slots_[place_of(ends, seed_, places)];
}

template <class Slot>
bool SlotTable<Slot>::can_take(const Slot& slot, const Entry& entry, std::int64_t now) {
  if (rested(slot, now)) return true;
  const bool translates = (slot.ends.flags & FP_TRANSLATES) != 0;
  if (translates != entry.translates) return false;
  if (translates && (!is_address(entry.to_internal, slot.to_internal) ||
                     !is_address(entry.to_external, slot.to_external))) {
    return false;
  }
  const auto half = half_of(entry);
  if (half_rested(slot.expires[half], now)) return true;
  const bool same_ways = ((slot.ends.flags >> 2 * half) & kBothWays) == entry.ways;
  return same_ways && (!translates || (slot.to_internal_port[half] == entry.to_internal.port &&
                                       slot.to_external_port[half] == entry.to_external.port));
}

template <class Slot>
void SlotTable<Slot>::write(Slot& slot, const Entry& entry, const Ends& ends, PolicyRuleId pid,
                            std::int64_t now, bool whole) {
  const auto half = half_of(entry);
  const auto shift = 2 * half;
  auto flags = static_cast<unsigned>(slot.ends.flags);
  if (whole) {
    // Both halves have been over for long; no reader takes later values for a rule's before
    // prepare() stores a lifetime, which it reads first (slot.h).
    for (auto& cell : slot.expires) publish(cell, __s64{0});
    if (!same(slot.ends, ends)) slot.pid[0] = slot.pid[1] = 0;
    Ends fresh = ends;
    fresh.used = slot.ends.used;  // never 0 for a moment: searches go past it
    slot.ends = fresh;
    flags = entry.translates ? FP_TRANSLATES : 0;
    put_address(entry.to_internal, slot.to_internal);
    put_address(entry.to_external, slot.to_external);
  }
  flags = (flags & ~(kBothWays << shift)) | static_cast<unsigned>(entry.ways) << shift;
  slot.to_internal_port[half] = entry.to_internal.port;
  slot.to_external_port[half] = entry.to_external.port;
  for (auto& shown : slot.shown[half]) publish(shown, long_ago(now));
  count_for(slot, half, pid);
  publish(slot.ends.flags, static_cast<__u8>(flags));
  publish(slot.ends.used, __u8{1});
}

template <class Slot>
void SlotTable<Slot>::count_for(Slot& slot, std::size_t half, PolicyRuleId pid) {
  if (slot.pid[half] == pid.value) return;
  slot.pid[half] = pid.value;
  if (tallies_.empty()) return;
  auto& tally = tallies_[index_of(slot)];
  publish(tally.packets[half], __u64{0});
  publish(tally.octets[half], __u64{0});
  publish(tally.last[half], __s64{0});
}

template <class Slot>
template <class Visit>
void SlotTable<Slot>::search(const Entry& entry, Visit visit) {
  if (slots_.empty()) return;
  const auto ends = ends_of<Ends>(entry);
  Slot* const first = chain(ends);
  for (Slot* slot = first; slot != first + FP_PROBES_MAX && slot->ends.used != 0; ++slot) {
    if (same(slot->ends, ends) && visit(*slot)) return;
  }
}

template <class Slot>
auto SlotTable<Slot>::prepare(const Entry& entry, PolicyRuleId pid, Instant when) -> Cell {
  if (slots_.empty()) return nullptr;
  const auto now = count_ns(when);
  const auto ends = ends_of<Ends>(entry);
  const auto half = half_of(entry);
  Slot* const first = chain(ends);
  Slot* same_ends = nullptr;
  Slot* free = nullptr;
  bool searched = true;  // by readers, so far
  for (Slot* slot = first; slot != first + FP_PROBES_MAX; ++slot) {
    searched = searched && slot->ends.used != 0;
    if (searched && same(slot->ends, ends)) {
      auto& cell = slot->expires[half];
      if (cell == kPrepared) return nullptr;
      if (cell > 0 && slot->pid[half] == pid.value) return &cell;
      if (cell > now) return nullptr;
      if (cell > 0) publish(cell, -cell);  // it has expired, and will be taken out soon
      if (same_ends == nullptr && can_take(*slot, entry, now)) same_ends = slot;
    }
    if (free == nullptr && rested(*slot, now)) free = slot;
    if (!searched && free != nullptr) break;
  }
  Slot* const chosen = same_ends != nullptr ? same_ends : free;
  if (chosen == nullptr) return nullptr;
  // Resting slots on the way there must not end a search.
  for (Slot* slot = first; slot != chosen; ++slot) slot->ends.used = 1;
  write(*chosen, entry, ends, pid, now, same_ends == nullptr || rested(*chosen, now));
  publish(chosen->expires[half], kPrepared);
  return &chosen->expires[half];
}

template <class Slot>
void SlotTable<Slot>::begin(Cell cell, Instant end) {
  publish(*cell, static_cast<__s64>(count_ns(end)));
}

template <class Slot>
void SlotTable<Slot>::end(const Entry& entry, PolicyRuleId pid, Instant now) {
  const auto half = half_of(entry);
  search(entry, [&](Slot& slot) {
    if (slot.pid[half] != pid.value || slot.expires[half] <= 0) return false;
    publish(slot.expires[half], static_cast<__s64>(-count_ns(now)));
    shorten(index_of(slot));
    return true;
  });
}

template <class Slot>
void SlotTable<Slot>::suspend(const Entry& entry, PolicyRuleId pid, Instant now) {
  const auto half = half_of(entry);
  search(entry, [&](Slot& slot) {
    const auto ways = slot.ends.flags >> 2 * half;
    const bool shared = slot.pid[half] != pid.value && (ways & entry.ways) != 0;
    if (shared && slot.expires[half] > count_ns(now)) publish(slot.expires[half], kPrepared);
    return false;
  });
}

template <class Slot>
void SlotTable<Slot>::suspend_if(const std::function<bool(const Entry&)>& is_meant) {
  for (auto& slot : slots_) {
    for (const std::size_t half : {0U, 1U}) {
      if (slot.expires[half] <= kPrepared) continue;
      Entry entry;
      entry.version = kVersionOf<Slot>;
      entry.ways = slot.ends.flags >> 2 * half & (FP_INBOUND | FP_OUTBOUND);
      get_address(slot.ends.internal, entry.internal);
      get_address(slot.ends.external, entry.external);
      if (is_meant(entry)) publish(slot.expires[half], kPrepared);
    }
  }
}

template <class Slot>
std::optional<Tally> SlotTable<Slot>::tally(const Entry& entry, PolicyRuleId pid) {
  std::optional<Tally> found;
  if (tallies_.empty()) return found;
  const auto half = half_of(entry);
  search(entry, [&](Slot& slot) {
    if (slot.pid[half] != pid.value) return false;
    auto& counted = tallies_[index_of(slot)];
    found = {{read(counted.packets[half]), read(counted.octets[half])},
             Instant(std::chrono::nanoseconds(read(counted.last[half])))};
    return true;
  });
  return found;
}

template <class Slot>
void SlotTable<Slot>::shorten(std::size_t index) {
  if (index + 1 < slots_.size() && slots_[index + 1].ends.used != 0) return;
  for (int i = 0; i < FP_PROBES_MAX; ++i, --index) {
    auto& slot = slots_[index];
    if (slot.ends.used == 0 || !dead(slot)) return;
    slot.ends.used = 0;
    if (index == 0) return;
  }
}

template class SlotTable<fp_slot4>;
template class SlotTable<fp_slot6>;

}  // namespace simco::backend::fastpath
