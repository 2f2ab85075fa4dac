// What the kernel looks up for a packet: elements of sets and maps, made from policy rules. Pure
// values and functions; nothing here talks to the kernel.
//
// A set holds elements of one shape: which parts of a packet's addresses and ports are compared.
// The data path looks up each shape that is in use, and so does not grow with the number of rules.
#pragma once

#include <absl/hash/hash.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/ip.hpp"

namespace simco::backend::nftables {

using rule::RuleChange;
using rule::RuleKind;
using rule::RuleRecord;

/// What a lookup is good for. The names say which address a translation changes, as a packet meets
/// it: destination on the way in, source on the way out.
enum class Purpose : std::uint8_t {
  kDisable,             ///< hit: drop
  kEnable,              ///< hit: accept
  kDestinationOutside,  ///< packets from outside: A2 becomes A0
  kDestinationInside,   ///< packets from inside, twice NAT: A1 becomes A3
  kSourceOutside,       ///< packets to outside: A0 becomes A2
  kSourceInside,        ///< packets to inside, twice NAT: A3 becomes A1
};

/// Which packets an enable rule is about (RFC 5189 section 2.3.5): for TCP those of connections
/// that begin on one side, for all other protocols those that travel one way.
enum class Flow : std::uint8_t {
  kBoth,
  kInbound,
  kOutbound,
  kInboundConnection,
  kOutboundConnection,
};

/// What is compared. `internal` is the internal network's end of the packet (A0, or A2 before
/// translation), `external` the other (A3, or A1).
struct Shape {
  Purpose purpose = Purpose::kEnable;
  /// Looked up after the exact shapes: an interval set, for what no mask can say.
  bool intervals = false;
  IpVersion version = IpVersion::kIpv4;
  Flow flow = Flow::kBoth;  ///< of an enable rule
  std::uint8_t internal_bits = 0;
  std::uint8_t external_bits = 0;
  /// Leading bits of the port that count: 16, 15 (an even port and the next), or 0.
  std::uint8_t internal_port_bits = 0;
  std::uint8_t external_port_bits = 0;
  bool protocol = false;
  bool target_port = false;  ///< the translation changes the port too
  /// A translation of whole addresses is for ports from here to there only; 0, 0: for all packets.
  std::uint16_t first_port = 0;
  std::uint16_t last_port = 0;

  friend auto operator<=>(const Shape&, const Shape&) = default;
  bool translates() const { return purpose >= Purpose::kDestinationOutside; }
  /// Bits that a packet must match: the more, the earlier the shape is looked up.
  unsigned specificity() const;
};

/// Whether it is one of the few shapes that most rules have, whoever makes them: of known ports of
/// one internal host, and of one external host or any traffic from outside.
bool is_common(const Shape& shape);

/// Name of the shape's set in the kernel.
std::string set_name(const Shape& shape);

/// Contents of an element. Parts that the shape does not compare are 0. Has no padding.
struct Key {
  std::array<std::byte, 16> internal{};
  std::array<std::byte, 16> external{};
  std::uint16_t internal_port = 0;
  std::uint16_t internal_last = 0;  ///< of an interval; otherwise as internal_port
  std::uint16_t external_port = 0;
  std::uint16_t external_last = 0;
  std::uint8_t internal_bits = 0;  ///< of an interval; otherwise 0
  std::uint8_t external_bits = 0;
  std::uint8_t protocol = 0;
  std::uint8_t any_protocol = 0;  ///< of an interval: 1 where the protocol does not matter

  friend bool operator==(const Key&, const Key&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Key& key) {
    return H::combine_contiguous(std::move(state), reinterpret_cast<const std::byte*>(&key),
                                 sizeof key);
  }
};
static_assert(sizeof(Key) == 44);

/// True where a packet could match both intervals.
bool overlap(const Key& a, const Key& b);

/// Both ends of a packet, on their own sides of the middlebox.
struct Ends {
  IpVersion version = IpVersion::kIpv4;
  std::uint8_t protocol = 0;
  std::array<std::byte, 16> internal{};
  std::array<std::byte, 16> external{};
  std::uint16_t internal_port = 0;
  std::uint16_t external_port = 0;
};
/// Whether the ports of such a packet go together as `shape` has it: where two ports of both sides
/// are one element, an even one goes with an even one.
bool ports_match(const Shape& shape, const Ends& ends);
/// The element of `shape`, which has no intervals, that such a packet hits, if ports_match().
Key key_of(const Shape& shape, const Ends& ends);
/// The interval that such a packet makes up alone.
Key point_of(const Ends& ends);

/// What a translation writes into packets.
struct Target {
  std::array<std::byte, 16> address{};
  std::uint16_t port = 0;
  friend bool operator==(const Target&, const Target&) = default;
};

struct Element {
  Shape shape;
  Key key;
  Target target;
};

/// Adds to `elements` those that enforce `rule`, which is an enable or a disable rule. Returns
/// false if no number of elements can say what the rule says: ranges of more than kPortsPerRuleMax
/// ports on both sides.
bool make_elements(const RuleRecord& rule, std::vector<Element>& elements);

/// Adds the same as elements of the interval set, for when there is no room for another shape. Not
/// for translations.
void add_intervals(const Element& element, std::vector<Element>& elements);

}  // namespace simco::backend::nftables
