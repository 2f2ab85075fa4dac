// The bits that a lookup compares: a tuple of prefix lengths, as in tuple space search (V.
// Srinivasan, S. Suri, G. Varghese: Packet Classification using Tuple Space Search, SIGCOMM 1999).
//
// All elements of a mask are found with a single lookup of an exact key, so a packet takes a lookup
// for each mask in use, with any number of rules. "Mask" and not "tuple", because in SIMCO a tuple
// is an address with its ports.
#pragma once

#include <compare>
#include <cstdint>
#include <cstring>
#include <type_traits>

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

/// The compared bits. `internal` is the internal network's end of the packet (A0, or A2 before
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
  unsigned specificity() const;
};

static_assert(std::has_unique_object_representations_v<Mask>);

/// Returns true for the few masks of most rules of any agent: known ports of an internal host, and
/// of an external host or any traffic from outside.
bool is_common(const Mask& mask);

}  // namespace simco::backend::match
