// Finds the rules whose traffic overlaps with given traffic, among very many (RFC 4540 section
// 8.8.1): the enable rules that a new disable rule ends, and the disable rules that a new enable
// rule runs into. It is a tuple space search (V. Srinivasan, S. Suri, G. Varghese: Packet
// Classification using Tuple Space Search, SIGCOMM 1999) for ranges instead of single packets.
// Therefore it has sorted orders instead of hash tables.
//
// Rules of one protocol with equal masks (prefix lengths and, roughly, number of ports on either
// side) form a group; there are few groups. A group sorts its rules in up to four orders: by
// internal and by external address, by internal and by external port. In each order, the matches of
// a query are contiguous. A query scans the orders that it restricts alternately and stops when the
// first scan ends, because its candidates are few enough: it costs a few times the best order, even
// if the others are crowded.
#pragma once

#include <absl/container/btree_map.h>
#include <absl/container/btree_set.h>

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "middlebox/policy/rule_table.hpp"
#include "middlebox/policy/traffic.hpp"

namespace simco::policy {

/// Address of an IPv4 index; IPv6 has Address128.
struct Address32 {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(Address32, Address32) = default;
};

/// Rules by the first address of one side, and among those by the first port.
template <class Address>
class AddressOrder {
 public:
  struct Entry {
    Address address;
    std::uint16_t port;
    RuleSlot slot;
    friend constexpr auto operator<=>(const Entry&, const Entry&) = default;
  };
  using Entries = absl::btree_set<Entry>;

  void insert(RuleSlot slot, const Side& side);
  void erase(RuleSlot slot, const Side& side);

  /// Iterates over the rules that may overlap with one side of a query. The order must not change
  /// meanwhile.
  class Scan;

 private:
  Entries entries_;
};

template <class Address>
class AddressOrder<Address>::Scan {
 public:
  /// For rules with prefixes of `length` and ranges of at most `ports` ports.
  Scan(const AddressOrder& order, unsigned length, unsigned ports, const Side& query);
  /// Appends candidates to `found`, looking at `budget` entries at most. True at the end.
  bool step(std::vector<RuleSlot>& found, unsigned budget);

 private:
  typename Entries::const_iterator at_;
  typename Entries::const_iterator end_;
  Address last_address_;
  std::uint16_t first_port_;
  std::uint16_t last_port_;
};

/// Rules by the first port of one side. The caller keeps for each rule its place among the rules of
/// that port.
class PortOrder {
 public:
  using Ports = absl::btree_map<std::uint16_t, std::vector<RuleSlot>>;

  PortOrder() : latest_(ports_.end()) {}
  PortOrder(const PortOrder&) = delete;
  PortOrder& operator=(const PortOrder&) = delete;

  /// Returns the rule's place.
  std::uint32_t insert(RuleSlot slot, std::uint16_t port);
  /// Returns the rule that now has the place, or kNoSlot.
  RuleSlot erase(std::uint16_t port, std::uint32_t place);

  class Scan;

 private:
  Ports ports_;
  Ports::iterator latest_;  ///< where the last rule was inserted, or end()
};

class PortOrder::Scan {
 public:
  /// For rules with ranges of at most `ports` ports.
  Scan(const PortOrder& order, unsigned ports, const Side& query);
  /// As AddressOrder::Scan::step().
  bool step(std::vector<RuleSlot>& found, unsigned budget);

 private:
  Ports::const_iterator at_;
  Ports::const_iterator end_;
  std::size_t place_ = 0;
  std::uint16_t last_port_;
};

/// The rules of both IP versions. Not thread-safe, even for queries: they share scratch memory.
class OverlapIndex {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  /// Adds the rule in `slot`, which must not be in the index.
  void insert(RuleSlot slot, const Traffic& traffic);
  /// Removes it; `traffic` must be the same as at insert().
  void erase(RuleSlot slot, const Traffic& traffic);

  /// Appends the rules that overlap with `query` to `found`. The index finds candidates, and
  /// `confirm(slot)` decides whether a candidate overlaps. Subtracts the entries that it scans from
  /// `budget`; when that is used up it returns false, and `found` is incomplete.
  template <class Confirm>
  bool find_all(const Traffic& query, std::uint32_t& budget, Confirm&& confirm,
                std::vector<RuleSlot>& found) const {
    const bool given_up = visit_groups(query, [&](const auto& group) {
      const auto& candidates = group.candidates(query, scratch_, [&](auto) {
        budget -= std::min(budget, kStep);
        return budget == 0;
      });
      std::ranges::copy_if(candidates, std::back_inserter(found), confirm);
      return budget == 0;
    });
    return !given_up;
  }

  /// True if a rule overlaps with `query`; `confirm` as above.
  template <class Confirm>
  bool find_any(const Traffic& query, Confirm&& confirm) const {
    return visit_groups(query, [&](const auto& group) {
      bool found = false;
      group.candidates(query, scratch_, [&](std::span<const RuleSlot> fresh) {
        found = found || std::ranges::any_of(fresh, confirm);
        return found;
      });
      return found;
    });
  }

 private:
  using Scratch = std::array<std::vector<RuleSlot>, 4>;
  /// Entries of an order that a query scans before it goes on in the next order.
  static constexpr std::uint32_t kStep = 32;

  /// The parts of a side that the rules of a group compare.
  struct Mask {
    std::uint8_t length;      ///< of the prefix
    std::uint8_t port_class;  ///< at most 2^port_class ports; kAllPorts: ports do not matter
    friend bool operator==(const Mask&, const Mask&) = default;
    bool by_address() const { return length != 0; }
    bool by_port() const { return port_class != kAllPorts; }
    unsigned ports() const { return 1U << port_class; }
  };
  static constexpr std::uint8_t kAllPorts = 16;
  static Mask mask_of(const Side& side);

  /// Places of a rule in the two port orders of its group.
  struct Places {
    std::uint32_t internal = 0;
    std::uint32_t external = 0;
  };

  template <class Address>
  struct MaskGroup {
    Mask internal_mask;
    Mask external_mask;
    AddressOrder<Address> internal_addresses;
    AddressOrder<Address> external_addresses;
    PortOrder internal_ports;
    PortOrder external_ports;
    std::size_t size = 0;

    /// True for rules that match everything. They are in internal_addresses, so that they can be
    /// found.
    bool is_everything() const {
      return !internal_mask.by_address() && !external_mask.by_address() &&
             !internal_mask.by_port() && !external_mask.by_port();
    }
    void file(RuleSlot slot, const Traffic& traffic, std::deque<Places>& places);
    void take(RuleSlot slot, const Traffic& traffic, std::deque<Places>& places);
    /// Returns candidates for `query`; passes new ones to `stop` until it returns true.
    template <class Stop>
    const std::vector<RuleSlot>& candidates(const Traffic& query, Scratch& scratch,
                                            Stop&& stop) const;
  };
  template <class Address>
  using MaskGroups =
      boost::unordered_flat_map<std::uint8_t, std::vector<std::unique_ptr<MaskGroup<Address>>>>;

  template <class Address>
  static MaskGroup<Address>& group_for(MaskGroups<Address>& groups, const Traffic& traffic);
  template <class Address>
  void erase_from(MaskGroups<Address>& groups, RuleSlot slot, const Traffic& traffic);

  /// Calls visit(group) for groups whose protocol fits, until it returns true.
  template <class Visit>
  bool visit_groups(const Traffic& query, Visit&& visit) const {
    if (empty()) return false;
    return query.version == IpVersion::kIpv4 ? visit_groups_in(ipv4_, query, visit)
                                             : visit_groups_in(ipv6_, query, visit);
  }
  template <class Address, class Visit>
  bool visit_groups_in(const MaskGroups<Address>& groups, const Traffic& query,
                       Visit& visit) const {
    for (const auto& [protocol, fitting] : groups) {
      const bool fits =
          protocol == query.protocol || protocol == kProtocolAny || query.protocol == kProtocolAny;
      if (!fits) continue;
      for (const auto& group : fitting) {
        if (visit(*group)) return true;
      }
    }
    return false;
  }

  MaskGroups<Address32> ipv4_;
  MaskGroups<Address128> ipv6_;
  std::deque<Places> places_;  ///< by slot; never copied when it grows
  std::size_t size_ = 0;
  mutable Scratch scratch_;
};

template <class Address>
template <class Stop>
const std::vector<RuleSlot>& OverlapIndex::MaskGroup<Address>::candidates(const Traffic& query,
                                                                          Scratch& scratch,
                                                                          Stop&& stop) const {
  const Side& internal = query.internal;
  const Side& external = query.external;
  const auto restricts_ports = [](const Side& side) {
    return side.first_port != 0 || side.last_port != 65535;
  };
  std::optional<typename AddressOrder<Address>::Scan> addresses[2];
  std::optional<PortOrder::Scan> ports[2];
  // An order that the mask or the query does not restrict would name all rules.
  if (external_mask.by_address() && external.length != 0) {
    addresses[0].emplace(external_addresses, external_mask.length, external_mask.ports(), external);
  }
  if (internal_mask.by_address() && internal.length != 0) {
    addresses[1].emplace(internal_addresses, internal_mask.length, internal_mask.ports(), internal);
  }
  if (external_mask.by_port() && restricts_ports(external)) {
    ports[0].emplace(external_ports, external_mask.ports(), external);
  }
  if (internal_mask.by_port() && restricts_ports(internal)) {
    ports[1].emplace(internal_ports, internal_mask.ports(), internal);
  }
  if (!addresses[0] && !addresses[1] && !ports[0] && !ports[1]) {
    // All of them, by any order that has them.
    constexpr Side kAny;
    if (external_mask.by_address()) {
      addresses[0].emplace(external_addresses, external_mask.length, 65536U, kAny);
    } else if (internal_mask.by_address() || is_everything()) {
      addresses[1].emplace(internal_addresses, internal_mask.length, 65536U, kAny);
    } else if (external_mask.by_port()) {
      ports[0].emplace(external_ports, 65536U, kAny);
    } else {
      ports[1].emplace(internal_ports, 65536U, kAny);
    }
  }
  for (auto& found : scratch) found.clear();
  const auto advance = [&](auto& scan, std::vector<RuleSlot>& found) {
    if (!scan) return false;
    const std::size_t known = found.size();
    const bool done = scan->step(found, kStep);
    return stop(std::span<const RuleSlot>(found).subspan(known)) || done;
  };
  for (;;) {
    if (advance(addresses[0], scratch[0])) return scratch[0];
    if (advance(addresses[1], scratch[1])) return scratch[1];
    if (advance(ports[0], scratch[2])) return scratch[2];
    if (advance(ports[1], scratch[3])) return scratch[3];
  }
}

}  // namespace simco::policy
