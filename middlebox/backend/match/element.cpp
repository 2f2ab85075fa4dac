// Combines the two ends of a rule into elements: port by port, pair by pair if the ranges allow it,
// or as a single element for any port. A NAT adds the elements that translate.
#include "middlebox/backend/match/element.hpp"

#include <algorithm>

#include "middlebox/backend/match/limits.hpp"
#include "simco/packet/rule_match.hpp"
#include "simco/wire/limits.hpp"

namespace simco::backend::match {

namespace {

bool prefixes_overlap(const std::array<std::byte, 16>& a, unsigned a_bits,
                      const std::array<std::byte, 16>& b, unsigned b_bits) {
  const unsigned bits = std::min(a_bits, b_bits);
  return masked({IpVersion::kIpv6, a}, bits) == masked({IpVersion::kIpv6, b}, bits);
}

}  // namespace

bool overlap(const Key& a, const Key& b) {
  const bool protocols = a.any_protocol != 0 || b.any_protocol != 0 || a.protocol == b.protocol;
  return protocols && a.internal_port <= b.internal_last && b.internal_port <= a.internal_last &&
         a.external_port <= b.external_last && b.external_port <= a.external_last &&
         prefixes_overlap(a.internal, a.internal_bits, b.internal, b.internal_bits) &&
         prefixes_overlap(a.external, a.external_bits, b.external, b.external_bits);
}

bool ports_match(const Mask& mask, const Ends& ends) {
  const bool pairs = mask.internal_port_bits == 15 && mask.external_port_bits == 15;
  return !pairs || ends.internal_port % 2 == ends.external_port % 2;
}

Key key_of(const Mask& mask, const Ends& ends) {
  const auto mask_port = [](std::uint16_t port, unsigned bits) {
    return static_cast<std::uint16_t>(port & ~(0xFFFFU >> bits));
  };
  Key key;
  key.internal = masked({ends.version, ends.internal}, mask.internal_bits).octets;
  key.external = masked({ends.version, ends.external}, mask.external_bits).octets;
  key.internal_port = key.internal_last = mask_port(ends.internal_port, mask.internal_port_bits);
  key.external_port = key.external_last = mask_port(ends.external_port, mask.external_port_bits);
  if (mask.protocol) key.protocol = ends.protocol;
  return key;
}

Key point_of(const Ends& ends) {
  Key key;
  key.internal = ends.internal;
  key.external = ends.external;
  key.internal_bits = key.external_bits = address_bits(ends.version);
  key.internal_port = key.internal_last = ends.internal_port;
  key.external_port = key.external_last = ends.external_port;
  key.protocol = ends.protocol;
  return key;
}

namespace {

using rule::RuleKind;
using rule::RuleRecord;

using packet::Ports;

/// An end of a rule.
struct End {
  std::array<std::byte, 16> address{};
  std::uint8_t bits = 0;
  Ports ports;
};

End end_of(const AddressTuple& tuple) {
  const auto prefix = prefix_of(tuple);
  End end{prefix.address.octets, prefix.length, {}};
  if (has_ports(tuple)) end.ports = {tuple.port, tuple.port_range};
  return end;
}

FlowDirection direction_of(const RuleRecord& rule) {
  const bool connections = rule.internal.protocol == kProtocolTcp;
  switch (rule.parameters.direction) {
    case Direction::kInbound:
      return connections ? FlowDirection::kInboundConnection : FlowDirection::kInbound;
    case Direction::kOutbound:
      return connections ? FlowDirection::kOutboundConnection : FlowDirection::kOutbound;
    case Direction::kBidirectional: return FlowDirection::kBoth;
  }
  return FlowDirection::kBoth;
}

/// Makes the elements of a rule.
class ElementBuilder {
 public:
  ElementBuilder(const RuleRecord& rule, std::vector<Element>& elements, PortPairs pairs)
      : rule_(rule),
        elements_(elements),
        pairs_(pairs == PortPairs::kTogether),
        internal_(end_of(rule.internal)),
        external_(end_of(rule.external)) {
    const auto pairing = packet::pairing_of(rule.internal, rule.external);
    internal_.ports = pairing.internal;
    external_.ports = pairing.external;
  }

  bool make() {
    if (!filter()) return false;
    if (rule_.kind == RuleKind::kEnable) return translate();
    return true;
  }

 private:
  Mask mask(Purpose purpose, const End& internal, const End& external) const {
    Mask mask;
    mask.purpose = purpose;
    mask.version = rule_.internal.ip_version;
    mask.internal_bits = internal.bits;
    mask.external_bits = external.bits;
    mask.protocol = rule_.internal.protocol != kProtocolAny;
    return mask;
  }

  Key key(const End& internal, const End& external) const {
    Key key;
    key.internal = internal.address;
    key.external = external.address;
    key.protocol = rule_.internal.protocol;
    return key;
  }

  bool filter() {
    const bool disable = rule_.kind == RuleKind::kDisable;
    Mask base = mask(disable ? Purpose::kDisable : Purpose::kEnable, internal_, external_);
    if (!disable) base.direction = direction_of(rule_);
    const Key common = key(internal_, external_);
    const auto count = std::max(internal_.ports.count, external_.ports.count);
    const bool both = internal_.ports.count != 0 && external_.ports.count != 0;
    if (count > kPortsPerRuleMax) {
      if (both) return false;
      add_interval(base, common);
      return true;
    }
    if (count == 0) {
      elements_.push_back({base, common, {}});
      return true;
    }
    add_ports(base, common, count);
    return true;
  }

  /// RFC 5189 section 2.3.6: the n-th port of one side goes with the n-th of the other. Two ports
  /// that differ in their last bit only share an element, if both sides have them so and options
  /// allow it.
  void add_ports(Mask mask, Key key, std::uint32_t count) {
    const Ports& internal = internal_.ports;
    const Ports& external = external_.ports;
    for (std::uint32_t i = 0; i < count;) {
      const bool pair = pairs_ && i + 1 < count &&
                        (internal.count == 0 || (internal.first + i) % 2 == 0) &&
                        (external.count == 0 || (external.first + i) % 2 == 0);
      const std::uint8_t bits = pair ? 15 : 16;
      if (internal.count != 0) {
        mask.internal_port_bits = bits;
        key.internal_port = key.internal_last = static_cast<std::uint16_t>(internal.first + i);
      }
      if (external.count != 0) {
        mask.external_port_bits = bits;
        key.external_port = key.external_last = static_cast<std::uint16_t>(external.first + i);
      }
      elements_.push_back({mask, key, {}});
      i += pair ? 2 : 1;
    }
  }

  void add_interval(const Mask& base, Key key) {
    Element element{base, key, {}};
    if (internal_.ports.count != 0) {
      element.mask.internal_port_bits = 16;
      element.key.internal_port = static_cast<std::uint16_t>(internal_.ports.first);
      element.key.internal_last = internal_.ports.last();
    } else {
      element.mask.external_port_bits = 16;
      element.key.external_port = static_cast<std::uint16_t>(external_.ports.first);
      element.key.external_last = external_.ports.last();
    }
    add_intervals(element, elements_);
  }

  bool translate() {
    const bool in = rule_.parameters.direction != Direction::kOutbound;
    const bool out = rule_.parameters.direction != Direction::kInbound;
    if (rule_.outside) {
      const End outside = end_of(*rule_.outside);
      if (in && !add(Purpose::kDestinationOutside, outside, external_, internal_)) return false;
      if (out && !add(Purpose::kSourceOutside, internal_, external_, outside)) return false;
    }
    if (rule_.inside) {
      const End inside = end_of(*rule_.inside);
      if (out && !add(Purpose::kDestinationInside, internal_, inside, external_)) return false;
      if (in && !add(Purpose::kSourceInside, internal_, external_, inside)) return false;
    }
    return true;
  }

  /// A map from packets between `internal` and `external` to the address and ports of `to`.
  bool add(Purpose purpose, End internal, End external, const End& to) {
    // The end whose address is rewritten.
    const bool rewrites_internal =
        purpose == Purpose::kDestinationOutside || purpose == Purpose::kSourceOutside;
    End& from = rewrites_internal ? internal : external;
    Mask base = mask(purpose, internal, external);
    // Ports that a rule wildcards are bound one by one: incoming packets keep their port.
    const bool one_by_one = from.ports.count != 0 && to.ports.count == 0;
    if (one_by_one) {
      base.first_port = static_cast<std::uint16_t>(from.ports.first);
      base.last_port = from.ports.last();
      from.ports = {};
    }
    base.target_port = to.ports.count != 0;
    const bool fixed = from.ports.count == 0;  // all that match get the same target
    const auto count = std::max({internal.ports.count, external.ports.count, 1U});
    if (count > kPortsPerRuleMax) return false;
    if (internal.ports.count != 0) base.internal_port_bits = 16;
    if (external.ports.count != 0) base.external_port_bits = 16;
    Element element{base, key(internal, external), {to.address, 0}};
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto nth = [i](const Ports& ports) {
        return static_cast<std::uint16_t>(ports.count == 0 ? 0 : ports.first + i);
      };
      element.key.internal_port = element.key.internal_last = nth(internal.ports);
      element.key.external_port = element.key.external_last = nth(external.ports);
      if (base.target_port) {
        element.target.port = static_cast<std::uint16_t>(to.ports.first + (fixed ? 0 : i));
      }
      elements_.push_back(element);
    }
    return true;
  }

  const RuleRecord& rule_;
  std::vector<Element>& elements_;
  bool pairs_;
  End internal_;
  End external_;
};

}  // namespace

bool make_elements(const RuleRecord& rule, std::vector<Element>& elements, PortPairs pairs) {
  return ElementBuilder(rule, elements, pairs).make();
}

void add_intervals(const Element& element, std::vector<Element>& elements) {
  const Mask& mask = element.mask;
  Element result;
  result.mask.purpose = mask.purpose;
  result.mask.direction = mask.direction;
  result.mask.version = mask.version;
  result.mask.intervals = true;
  result.key = element.key;
  Key& key = result.key;
  key.internal_bits = mask.internal_bits;
  key.external_bits = mask.external_bits;
  key.any_protocol = mask.protocol ? 0 : 1;
  if (mask.internal_port_bits == 0 && key.internal_last == key.internal_port)
    key.internal_last = 65535;
  if (mask.external_port_bits == 0 && key.external_last == key.external_port)
    key.external_last = 65535;
  if (mask.internal_port_bits != 15 || mask.external_port_bits != 15) {
    if (mask.internal_port_bits == 15) ++key.internal_last;
    if (mask.external_port_bits == 15) ++key.external_last;
    elements.push_back(result);
    return;
  }
  elements.push_back(result);  // even with even,
  key.internal_port = ++key.internal_last;
  key.external_port = ++key.external_last;
  elements.push_back(result);  // odd with odd
}

}  // namespace simco::backend::match
