// Finds the rules whose traffic overlaps with given traffic, among very many (RFC 4540 section
// 8.8.1): the enable rules that a new disable rule ends, and the disable rules that a new enable
// rule runs into.
//
// Each rule is filed twice, by its internal and by its external side. A side's rules of one
// protocol, prefix length and class of port range form an ordered set of (first address, first
// port), so that whatever a query asks is a contiguous stretch of each set, or nearly so. A query
// walks both sides in turns, and the one that comes to its end first has named few enough
// candidates: it costs twice the better side, however crowded the other is.
#pragma once

#include <absl/container/btree_set.h>

#include <algorithm>
#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "middlebox/policy/rule.hpp"
#include "middlebox/policy/traffic.hpp"

namespace simco::policy {

/// Address of an IPv4 or IPv6 index.
struct Address32 {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(Address32, Address32) = default;
};

template <class Address>
Address narrow(Address128 address) {
  if constexpr (std::is_same_v<Address, Address32>) {
    return {static_cast<std::uint32_t>(address.high >> 32)};
  } else {
    return address;
  }
}

/// One side of the rules of one IP version.
template <class Address>
class SideIndex {
 public:
  void insert(RuleSlot slot, std::uint8_t protocol, const Side& side);
  void erase(RuleSlot slot, std::uint8_t protocol, const Side& side);

  class Scan;

 private:
  struct Entry {
    Address address;
    std::uint16_t port;
    RuleSlot slot;
    friend constexpr auto operator<=>(const Entry&, const Entry&) = default;
  };
  /// Rules that have the same bits of their address and about as many ports.
  struct Class {
    std::uint8_t length;
    std::uint8_t port_class;  ///< ranges of at most 2^port_class ports
    absl::btree_set<Entry> entries;
  };
  using Classes = std::vector<std::unique_ptr<Class>>;

  static std::uint8_t port_class_of(const Side& side) {
    const unsigned ports = unsigned{side.last_port} - side.first_port + 1;
    return static_cast<std::uint8_t>(std::bit_width(ports - 1));
  }
  static Entry entry_of(RuleSlot slot, const Side& side) {
    return {narrow<Address>(side.base), side.first_port, slot};
  }

  boost::unordered_flat_map<std::uint8_t, Classes> by_protocol_;
};

/// Walks the rules whose one side overlaps with that of a query. The index must not change.
template <class Address>
class SideIndex<Address>::Scan {
 public:
  Scan(const SideIndex& index, std::uint8_t protocol, const Side& query);

  /// Appends candidates to `found`, looking at `budget` entries at most. True when there are no
  /// more.
  bool step(std::vector<RuleSlot>& found, unsigned budget);

 private:
  using Iterator = typename absl::btree_set<Entry>::const_iterator;
  void add_classes(const Classes& classes);
  bool enter_class();
  /// Goes on to the next entry whose port may fit; the present one's does not.
  void skip();
  void seek(const Entry& to) { at_ = classes_[class_]->entries.lower_bound(to); }

  const Side& query_;
  std::vector<const Class*> classes_;
  std::size_t class_ = 0;
  bool inside_ = false;
  unsigned misses_ = 0;
  // The stretch of the present class.
  Iterator at_;
  Iterator end_;
  Address last_address_;
  std::uint16_t first_port_ = 0;
};

/// The rules of both IP versions, by both sides.
class OverlapIndex {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// Files the rule in `slot`, which is not filed yet.
  void insert(RuleSlot slot, const Traffic& traffic);
  /// Takes it out; `traffic` is what it was filed under.
  void erase(RuleSlot slot, const Traffic& traffic);

  /// Rules that overlap with `query` on one side at least, as candidates; `confirm(slot)` says
  /// which do on both. Appends those to `found`.
  template <class Confirm>
  void find_all(const Traffic& query, Confirm&& confirm, std::vector<RuleSlot>& found) const {
    if (empty()) return;
    std::size_t checked = 0;
    const auto& candidates = walk(query, [](const auto&) { return false; });
    for (; checked < candidates.size(); ++checked) {
      if (confirm(candidates[checked])) found.push_back(candidates[checked]);
    }
  }

  /// Is there a rule that overlaps with `query`? `confirm` as above.
  template <class Confirm>
  bool find_any(const Traffic& query, Confirm&& confirm) const {
    if (empty()) return false;
    bool found = false;
    walk(query, [&](std::span<const RuleSlot> fresh) {
      found = std::ranges::any_of(fresh, confirm);
      return found;
    });
    return found;
  }

 private:
  template <class Address>
  struct Sides {
    SideIndex<Address> internal;
    SideIndex<Address> external;
  };

  /// Walks both sides in turns, showing fresh candidates to `stop` until it says so. Answers the
  /// candidates of the side that came to its end first.
  template <class Stop>
  const std::vector<RuleSlot>& walk(const Traffic& query, Stop&& stop) const {
    return query.version == IpVersion::kIpv4 ? walk(ipv4_, query, stop) : walk(ipv6_, query, stop);
  }
  template <class Address, class Stop>
  const std::vector<RuleSlot>& walk(const Sides<Address>& sides, const Traffic& query,
                                    Stop& stop) const;

  Sides<Address32> ipv4_;
  Sides<Address128> ipv6_;
  std::size_t size_ = 0;
  mutable std::vector<RuleSlot> by_internal_;  ///< scratch of walk()
  mutable std::vector<RuleSlot> by_external_;
};

template <class Address, class Stop>
const std::vector<RuleSlot>& OverlapIndex::walk(const Sides<Address>& sides, const Traffic& query,
                                                Stop& stop) const {
  constexpr unsigned kStep = 32;
  by_internal_.clear();
  by_external_.clear();
  typename SideIndex<Address>::Scan internal(sides.internal, query.protocol, query.internal);
  typename SideIndex<Address>::Scan external(sides.external, query.protocol, query.external);
  const auto advance = [&](auto& scan, std::vector<RuleSlot>& found) {
    const std::size_t known = found.size();
    const bool done = scan.step(found, kStep);
    return stop(std::span<const RuleSlot>(found).subspan(known)) || done;
  };
  for (;;) {
    if (advance(external, by_external_)) return by_external_;
    if (advance(internal, by_internal_)) return by_internal_;
  }
}

}  // namespace simco::policy
