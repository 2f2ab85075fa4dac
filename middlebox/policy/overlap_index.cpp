// The orders by address and by port with their scans, and the groups of rules with equal masks.
#include "middlebox/policy/overlap_index.hpp"

#include <bit>

#include "simco/wire/assert.hpp"

namespace simco::policy {
namespace {

template <class Address>
Address narrow(Address128 address) {
  if constexpr (std::is_same_v<Address, Address32>) {
    return {static_cast<std::uint32_t>(address.high >> 32)};
  } else {
    return address;
  }
}

/// Where ranges of at most `ports` ports may begin that reach the ports of `query`.
std::uint16_t first_port_for(const Side& query, unsigned ports) {
  const unsigned before = ports - 1;
  return static_cast<std::uint16_t>(query.first_port > before ? query.first_port - before : 0);
}

}  // namespace

// --- By address --------------------------------------------------------------------------------

template <class Address>
void AddressOrder<Address>::insert(RuleSlot slot, const Side& side) {
  // Rules often come in order; then the end is the place, and no search is needed.
  entries_.insert(entries_.end(), Entry{narrow<Address>(side.base), side.first_port, slot});
}

template <class Address>
void AddressOrder<Address>::erase(RuleSlot slot, const Side& side) {
  const auto erased = entries_.erase(Entry{narrow<Address>(side.base), side.first_port, slot});
  SIMCO_ASSERT(erased == 1);
}

// Rules with fewer significant bits than the query can only be at the query's own address, cut to
// as many bits; the others lie anywhere within the query's prefix.
template <class Address>
AddressOrder<Address>::Scan::Scan(const AddressOrder& order, unsigned length, unsigned ports,
                                  const Side& query)
    : end_(order.entries_.end()),
      first_port_(first_port_for(query, ports)),
      last_port_(query.last_port) {
  const auto first = lowest_of(query.base, length);
  last_address_ = narrow<Address>(highest_of(first, length <= query.length ? 128U : query.length));
  at_ = order.entries_.lower_bound(Entry{narrow<Address>(first), first_port_, RuleSlot{0}});
}

template <class Address>
bool AddressOrder<Address>::Scan::step(std::vector<RuleSlot>& found, unsigned budget) {
  for (; budget > 0; --budget) {
    if (at_ == end_ || at_->address > last_address_) return true;
    const bool fits = at_->port >= first_port_ && at_->port <= last_port_;
    if (fits) found.push_back(at_->slot);
    if (at_->address == last_address_ && at_->port > last_port_) return true;
    ++at_;
  }
  return false;
}

template class AddressOrder<Address32>;
template class AddressOrder<Address128>;

// --- By port -----------------------------------------------------------------------------------

std::uint32_t PortOrder::insert(RuleSlot slot, std::uint16_t port) {
  // Rules often come in order; then the place is known, and no search is needed.
  if (latest_ != ports_.end() && latest_->first < port) ++latest_;
  if (latest_ == ports_.end() || latest_->first != port) latest_ = ports_.try_emplace(port).first;
  auto& rules = latest_->second;
  rules.push_back(slot);
  return static_cast<std::uint32_t>(rules.size() - 1);
}

RuleSlot PortOrder::erase(std::uint16_t port, std::uint32_t place) {
  const auto found = ports_.find(port);
  SIMCO_ASSERT(found != ports_.end() && place < found->second.size());
  auto& rules = found->second;
  const bool is_last = place + 1 == rules.size();
  const RuleSlot moved = is_last ? kNoSlot : rules.back();
  rules[place] = rules.back();
  rules.pop_back();
  if (rules.empty()) {
    ports_.erase(found);
    latest_ = ports_.end();
  }
  return moved;
}

PortOrder::Scan::Scan(const PortOrder& order, unsigned ports, const Side& query)
    : at_(order.ports_.lower_bound(first_port_for(query, ports))),
      end_(order.ports_.end()),
      last_port_(query.last_port) {}

bool PortOrder::Scan::step(std::vector<RuleSlot>& found, unsigned budget) {
  for (; budget > 0; --budget) {
    if (at_ == end_ || at_->first > last_port_) return true;
    if (place_ < at_->second.size()) {
      found.push_back(at_->second[place_++]);
    } else {
      ++at_;
      place_ = 0;
    }
  }
  return false;
}

// --- Groups ------------------------------------------------------------------------------------

OverlapIndex::Mask OverlapIndex::mask_of(const Side& side) {
  const unsigned ports = unsigned{side.last_port} - side.first_port + 1;
  return {side.length, static_cast<std::uint8_t>(std::bit_width(ports - 1))};
}

template <class Address>
void OverlapIndex::MaskGroup<Address>::file(RuleSlot slot, const Traffic& traffic,
                                            std::deque<Places>& places) {
  ++size;
  if (internal_mask.by_address() || is_everything()) {
    internal_addresses.insert(slot, traffic.internal);
  }
  if (external_mask.by_address()) external_addresses.insert(slot, traffic.external);
  Places& own = places[slot.value];
  if (internal_mask.by_port()) {
    own.internal = internal_ports.insert(slot, traffic.internal.first_port);
  }
  if (external_mask.by_port()) {
    own.external = external_ports.insert(slot, traffic.external.first_port);
  }
}

template <class Address>
void OverlapIndex::MaskGroup<Address>::take(RuleSlot slot, const Traffic& traffic,
                                            std::deque<Places>& places) {
  --size;
  if (internal_mask.by_address() || is_everything()) {
    internal_addresses.erase(slot, traffic.internal);
  }
  if (external_mask.by_address()) external_addresses.erase(slot, traffic.external);
  const Places own = places[slot.value];
  if (internal_mask.by_port()) {
    const auto moved = internal_ports.erase(traffic.internal.first_port, own.internal);
    if (moved != kNoSlot) places[moved.value].internal = own.internal;
  }
  if (external_mask.by_port()) {
    const auto moved = external_ports.erase(traffic.external.first_port, own.external);
    if (moved != kNoSlot) places[moved.value].external = own.external;
  }
}

template <class Address>
OverlapIndex::MaskGroup<Address>& OverlapIndex::group_for(MaskGroups<Address>& groups,
                                                          const Traffic& traffic) {
  auto& of_protocol = groups[traffic.protocol];
  const auto internal = mask_of(traffic.internal);
  const auto external = mask_of(traffic.external);
  const auto found = std::ranges::find_if(of_protocol, [&](const auto& group) {
    return group->internal_mask == internal && group->external_mask == external;
  });
  if (found != of_protocol.end()) return **found;
  auto group = std::make_unique<MaskGroup<Address>>();
  group->internal_mask = internal;
  group->external_mask = external;
  return *of_protocol.emplace_back(std::move(group));
}

void OverlapIndex::insert(RuleSlot slot, const Traffic& traffic) {
  if (slot.value >= places_.size()) places_.resize(slot.value + 1);
  if (traffic.version == IpVersion::kIpv4) {
    group_for(ipv4_, traffic).file(slot, traffic, places_);
  } else {
    group_for(ipv6_, traffic).file(slot, traffic, places_);
  }
  ++size_;
}

template <class Address>
void OverlapIndex::erase_from(MaskGroups<Address>& groups, RuleSlot slot, const Traffic& traffic) {
  auto& group = group_for(groups, traffic);
  group.take(slot, traffic, places_);
  if (group.size != 0) return;
  auto& of_protocol = groups[traffic.protocol];
  std::erase_if(of_protocol, [](const auto& one) { return one->size == 0; });
  if (of_protocol.empty()) groups.erase(traffic.protocol);
}

void OverlapIndex::erase(RuleSlot slot, const Traffic& traffic) {
  if (traffic.version == IpVersion::kIpv4) {
    erase_from(ipv4_, slot, traffic);
  } else {
    erase_from(ipv6_, slot, traffic);
  }
  --size_;
}

}  // namespace simco::policy
