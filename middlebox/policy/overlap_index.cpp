#include "middlebox/policy/overlap_index.hpp"

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco::policy {
namespace {

constexpr std::uint8_t kAllPorts = 16;  // 2^16

/// The address after `address`, or nothing after the last.
bool advance(Address32& address) { return ++address.value != 0; }
bool advance(Address128& address) { return ++address.low != 0 || ++address.high != 0; }

}  // namespace

template <class Address>
void SideIndex<Address>::insert(RuleSlot slot, std::uint8_t protocol, const Side& side) {
  Classes& classes = by_protocol_[protocol];
  const auto port_class = port_class_of(side);
  auto found = std::ranges::find_if(classes, [&](const auto& one) {
    return one->length == side.length && one->port_class == port_class;
  });
  if (found == classes.end()) {
    classes.push_back(std::make_unique<Class>(Class{side.length, port_class, {}}));
    found = std::prev(classes.end());
  }
  // Rules often come in order; then the end is the place, and no search is needed.
  auto& entries = (*found)->entries;
  entries.insert(entries.end(), entry_of(slot, side));
}

template <class Address>
void SideIndex<Address>::erase(RuleSlot slot, std::uint8_t protocol, const Side& side) {
  const auto classes = by_protocol_.find(protocol);
  SIMCO_ASSERT(classes != by_protocol_.end());
  const auto port_class = port_class_of(side);
  const auto found = std::ranges::find_if(classes->second, [&](const auto& one) {
    return one->length == side.length && one->port_class == port_class;
  });
  SIMCO_ASSERT(found != classes->second.end());
  const auto erased = (*found)->entries.erase(entry_of(slot, side));
  SIMCO_ASSERT(erased == 1);
  if (!(*found)->entries.empty()) return;
  classes->second.erase(found);
  if (classes->second.empty()) by_protocol_.erase(classes);
}

template <class Address>
SideIndex<Address>::Scan::Scan(const SideIndex& index, std::uint8_t protocol, const Side& query)
    : query_(query) {
  for (const auto& [other, classes] : index.by_protocol_) {
    if (other == protocol || other == kProtocolAny || protocol == kProtocolAny) {
      add_classes(classes);
    }
  }
}

template <class Address>
void SideIndex<Address>::Scan::add_classes(const Classes& classes) {
  for (const auto& one : classes) classes_.push_back(one.get());
}

// The stretch: rules with fewer significant bits than the query can only be at the query's own
// address, cut to as many bits; the others lie anywhere within the query's prefix.
template <class Address>
bool SideIndex<Address>::Scan::enter_class() {
  if (class_ == classes_.size()) return false;
  const Class& entered = *classes_[class_];
  const auto first = lowest_of(query_.base, entered.length);
  const unsigned reach = entered.length <= query_.length ? 128U : query_.length;
  last_address_ = narrow<Address>(highest_of(first, reach));
  // A range that begins this much before the query's ports may still reach them.
  const unsigned before = entered.port_class == kAllPorts ? 65535 : (1U << entered.port_class) - 1;
  first_port_ =
      static_cast<std::uint16_t>(query_.first_port > before ? query_.first_port - before : 0);
  end_ = entered.entries.end();
  seek({narrow<Address>(first), first_port_, RuleSlot{0}});
  inside_ = true;
  misses_ = 0;
  return true;
}

template <class Address>
void SideIndex<Address>::Scan::skip() {
  // The next entries are in the same cache line: a search pays only where many do not fit.
  constexpr unsigned kMissesMax = 16;
  if (++misses_ < kMissesMax) {
    ++at_;
    return;
  }
  misses_ = 0;
  Address address = at_->address;
  if (at_->port > query_.last_port && !advance(address)) {
    at_ = end_;
    return;
  }
  seek({address, first_port_, RuleSlot{0}});
}

template <class Address>
bool SideIndex<Address>::Scan::step(std::vector<RuleSlot>& found, unsigned budget) {
  while (budget > 0) {
    if (!inside_ && !enter_class()) return true;
    --budget;
    const bool past = at_ == end_ || at_->address > last_address_ ||
                      (at_->address == last_address_ && at_->port > query_.last_port);
    if (past) {
      inside_ = false;
      ++class_;
    } else if (at_->port < first_port_ || at_->port > query_.last_port) {
      skip();
    } else {
      found.push_back(at_->slot);
      ++at_;
      misses_ = 0;
    }
  }
  return false;
}

template class SideIndex<Address32>;
template class SideIndex<Address128>;

void OverlapIndex::insert(RuleSlot slot, const Traffic& traffic) {
  const auto file = [&](auto& sides) {
    sides.internal.insert(slot, traffic.protocol, traffic.internal);
    sides.external.insert(slot, traffic.protocol, traffic.external);
  };
  traffic.version == IpVersion::kIpv4 ? file(ipv4_) : file(ipv6_);
  ++size_;
}

void OverlapIndex::erase(RuleSlot slot, const Traffic& traffic) {
  const auto take = [&](auto& sides) {
    sides.internal.erase(slot, traffic.protocol, traffic.internal);
    sides.external.erase(slot, traffic.protocol, traffic.external);
  };
  traffic.version == IpVersion::kIpv4 ? take(ipv4_) : take(ipv6_);
  --size_;
}

}  // namespace simco::policy
