#include "middlebox/backend/fastpath/rule_table.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "middlebox/backend/fastpath/limits.hpp"

namespace simco::backend::fastpath {

static_assert(std::is_same_v<SlotTable<fp_slot4>::Cell, SlotTable<fp_slot6>::Cell>);

namespace {

/// The port of the internal host, which a translation writes into packets from outside.
std::uint16_t internal_port(const Entry& entry) {
  const bool inward = entry.translates && entry.ways == FP_INBOUND;
  return inward ? entry.to_internal.port : entry.internal.port;
}

void add(const Tally& tally, std::uint16_t port, Instant now, rule::RuleTraffic& traffic) {
  if (tally.count.packets == 0) return;
  traffic.count += tally.count;
  const auto until = std::min(tally.last + kClockTickMax, now);
  // Nothing passes before the rule begins, though the ticks may have it so.
  const bool at_begin = tally.last < traffic.complete_since && traffic.complete_since < until;
  auto& last = traffic.last_packet;
  if (!last || last->until < until) last = {at_begin ? traffic.complete_since : tally.last, until};
  const auto same = std::ranges::find(traffic.ports, port, &rule::PortCount::port);
  if (same != traffic.ports.end()) same->count += tally.count;
}

}  // namespace

template <class Act>
void RuleTable::for_each_entry(const rule::RuleRecord& rule, Act act) {
  entries_.clear();
  make_entries(rule, entries_);
  for (const auto& entry : entries_) {
    entry.version == IpVersion::kIpv4 ? act(table4_, entry) : act(table6_, entry);
  }
}

void RuleTable::put(const rule::RuleRecord& rule, Instant now) {
  cells_.clear();
  for_each_entry(rule, [&](auto& table, const Entry& entry) {
    if (is_from_here(entry)) return;
    if (auto* const cell = table.prepare(entry, rule.pid, now)) cells_.push_back(cell);
  });
  for (auto* const cell : cells_) SlotTable<fp_slot4>::begin(cell, rule.expires_at);
}

bool RuleTable::is_from_here(const Entry& entry) const {
  const auto is_own = [&](const End& end) {
    const auto alone = host_prefix({entry.version, end.address});
    return std::ranges::any_of(own_, [&](const IpPrefix& one) { return contains(one, alone); });
  };
  return ((entry.ways & FP_OUTBOUND) != 0 && is_own(entry.internal)) ||
         ((entry.ways & FP_INBOUND) != 0 && is_own(entry.external));
}

void RuleTable::set_own(std::vector<IpPrefix> own) {
  if (own == own_) return;
  own_ = std::move(own);
  const auto from_here = [&](const Entry& entry) { return is_from_here(entry); };
  table4_.suspend_if(from_here);
  table6_.suspend_if(from_here);
}

void RuleTable::take_out(const rule::RuleRecord& rule, Instant now) {
  for_each_entry(rule, [&](auto& table, const Entry& entry) { table.end(entry, rule.pid, now); });
}

void RuleTable::leave_shared(const rule::RuleRecord& rule, Instant now) {
  for_each_entry(rule,
                 [&](auto& table, const Entry& entry) { table.suspend(entry, rule.pid, now); });
}

void RuleTable::add_traffic(const rule::RuleRecord& rule, Instant now, rule::RuleTraffic& traffic) {
  for_each_entry(rule, [&](auto& table, const Entry& entry) {
    if (const auto tally = table.tally(entry, rule.pid))
      add(*tally, internal_port(entry), now, traffic);
  });
}

}  // namespace simco::backend::fastpath
