// The elements that packets are looked up in: a mask (the compared bits) and a key (their values),
// and policy rules as elements. Pure.
#pragma once

#include <absl/hash/hash.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/ip.hpp"

namespace simco::backend::match {

/// The purpose of a lookup. The names say which address a translation changes, as a packet meets
/// it: destination on the way in, source on the way out.
enum class Purpose : std::uint8_t {
  kDisable,             ///< hit: drop
  kEnable,              ///< hit: accept
  kDestinationOutside,  ///< packets from outside: A2 becomes A0
  kDestinationInside,   ///< packets from inside, twice NAT: A1 becomes A3
  kSourceOutside,       ///< packets to outside: A0 becomes A2
  kSourceInside,        ///< packets to inside, twice NAT: A3 becomes A1
};

/// The packets of an enable rule by direction (RFC 5189 section 2.3.5): for TCP those of
/// connections that begin on one side, for all other protocols those that travel one way.
enum class FlowDirection : std::uint8_t {
  kBoth,
  kInbound,
  kOutbound,
  kInboundConnection,
  kOutboundConnection,
};
/// Returns true if the side matters that began the packet's connection.
constexpr bool is_connection(FlowDirection direction) {
  return direction == FlowDirection::kInboundConnection ||
         direction == FlowDirection::kOutboundConnection;
}

/// The bits that a lookup compares: a tuple of prefix lengths, as in tuple space search (V.
/// Srinivasan, S. Suri, G. Varghese: Packet Classification using Tuple Space Search, SIGCOMM 1999).
/// All elements of a mask are found with a single lookup of an exact key, so a packet takes a
/// lookup for each mask in use, with any number of rules. "Mask" and not "tuple", because in SIMCO
/// a tuple is an address with its ports.
///
/// `internal` is the internal network's end of the packet (A0, or A2 before
/// translation), `external` the other (A3, or A1).
struct Mask {
  Purpose purpose = Purpose::kEnable;
  /// Intervals, which prefix lengths cannot express: elements that are looked up after all others.
  bool intervals = false;
  IpVersion version = IpVersion::kIpv4;
  FlowDirection direction = FlowDirection::kBoth;  ///< of an enable rule
  std::uint8_t internal_bits = 0;                  ///< leading bits of the address that count
  std::uint8_t external_bits = 0;
  /// Leading bits of the port that count: 16, 15 (an even port and the next), or 0.
  std::uint8_t internal_port_bits = 0;
  std::uint8_t external_port_bits = 0;
  bool protocol = false;     ///< the protocol counts
  bool target_port = false;  ///< the translation changes the port too
  /// A translation of whole addresses is for ports from here to there only; 0, 0: for all packets.
  std::uint16_t first_port = 0;
  std::uint16_t last_port = 0;

  friend auto operator<=>(const Mask&, const Mask&) = default;
  /// By octets: each request compares several times.
  friend bool operator==(const Mask& a, const Mask& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  /// Returns true if a hit rewrites the packet.
  bool translates() const { return purpose >= Purpose::kDestinationOutside; }
  /// Returns true if an address, or a part of it, is compared.
  bool compares_addresses() const { return intervals || internal_bits != 0 || external_bits != 0; }
  /// Bits that a packet must match: the more, the earlier the mask is looked up.
  unsigned specificity() const {
    return unsigned{internal_bits} + external_bits + internal_port_bits + external_port_bits +
           (protocol ? 8U : 0U);
  }
};

static_assert(std::has_unique_object_representations_v<Mask>);

/// Returns true for the few masks of most rules of any agent: known ports of an internal host, and
/// of an external host or any traffic from outside.
inline bool is_common(const Mask& mask) {
  const auto all = address_bits(mask.version);
  const bool internal = mask.internal_bits == all && mask.internal_port_bits >= 15;
  const bool external = mask.external_bits == all && mask.external_port_bits >= 15;
  const bool any_external = mask.external_bits == 0 && mask.external_port_bits == 0;
  return !mask.intervals && mask.last_port == 0 && mask.protocol && internal &&
         (external || any_external);
}

/// Contents of an element. Parts that the mask does not compare are 0. Has no padding.
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
  std::uint8_t any_protocol = 0;  ///< of an interval: 1 if the protocol does not matter

  friend bool operator==(const Key&, const Key&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Key& key) {
    // Word by word: a third of the time of hashing it as a string of octets.
    std::array<std::uint64_t, 6> words{};
    std::memcpy(words.data(), &key, sizeof key);
    return H::combine(std::move(state), words[0], words[1], words[2], words[3], words[4], words[5]);
  }
};
static_assert(sizeof(Key) == 44);

/// Returns true if a packet could match both intervals.
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
/// Returns whether the ports of such a packet are a pair of `mask`: if an element stands for two
/// ports on both sides, even goes with even.
bool ports_match(const Mask& mask, const Ends& ends);
/// Returns the element of `mask`, which has no intervals, that such a packet hits, if
/// ports_match().
Key key_of(const Mask& mask, const Ends& ends);
/// Returns the interval that such a packet makes up alone.
Key point_of(const Ends& ends);

/// The values that a translation writes into packets.
struct Target {
  std::array<std::byte, 16> address{};
  std::uint16_t port = 0;
  friend bool operator==(const Target&, const Target&) = default;
};

/// A mask and key to look up, and the effect of a hit.
struct Element {
  Mask mask;
  Key key;
  Target target;  ///< of a translation
};

/// Whether an even port and the next, on both sides, share an element.
enum class PortPairs : std::uint8_t {
  kTogether,
  kApart,  ///< to count each port for itself
};

/// Appends to `elements` those that enforce `rule`, which is an enable or a disable rule. Returns
/// false if elements cannot express the rule: ranges of more than kPortsPerRuleMax ports on both
/// sides.
bool make_elements(const rule::RuleRecord& rule, std::vector<Element>& elements,
                   PortPairs pairs = PortPairs::kTogether);

/// Appends intervals that are equivalent to `element` to `elements`, for use if another mask does
/// not fit. Not for translations.
void add_intervals(const Element& element, std::vector<Element>& elements);

}  // namespace simco::backend::match
