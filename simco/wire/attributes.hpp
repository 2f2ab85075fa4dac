// The attributes of RFC 4540 section 4.3 as plain values. attribute_codec.hpp has their wire
// formats; messages.hpp has the attributes of each message.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "simco/wire/ids.hpp"

namespace simco {

/// SIMCO protocol version (4.3.1).
struct ProtocolVersion {
  std::uint8_t major = 3;
  std::uint8_t minor = 0;
  friend bool operator==(const ProtocolVersion&, const ProtocolVersion&) = default;
};

/// The version that this library speaks.
inline constexpr ProtocolVersion kProtocolVersion{3, 0};

/// Octets of variable length inside a message. A view: it borrows from the buffer that was decoded,
/// or from the encoder's caller, and must not outlive it. Equal when the octets are.
struct OctetsView {
  std::span<const std::byte> octets;

  static OctetsView of(std::string_view text) { return {std::as_bytes(std::span{text})}; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(octets.data()), octets.size()};
  }
  friend bool operator==(const OctetsView& a, const OctetsView& b) {
    return std::ranges::equal(a.octets, b.octets);
  }
};

/// Authentication challenge (4.3.2), at most kAuthenticationSizeMax octets.
struct Challenge : OctetsView {};
/// Authentication token (4.3.2), at most kAuthenticationSizeMax octets.
struct Token : OctetsView {};
/// Policy rule owner (4.3.7): name of the agent, at most kOwnerSizeMax octets.
struct Owner : OctetsView {};

/// IP versions of an address or of a network, as the bits of 4.3.3, 4.3.8 and 4.3.9.
enum class IpVersion : std::uint8_t { kIpv4 = 1, kIpv6 = 2 };
/// According to the wording of 8.2.2, the reply of a firewall if the request left the version open;
/// only in `protocols only` tuples of replies. Accepted (doc/rfc4540.md, reading 33), never sent.
inline constexpr IpVersion kIpVersionAny{0};

/// Middlebox capabilities (4.3.3). Reserved bits of the MB type are not kept.
struct Capabilities {
  bool packet_filter = false;          ///< 0x80: packet filter firewall
  bool nat = false;                    ///< 0x40: network address translator
  bool disable_rules = false;          ///< 0x10: PDR transaction supported
  bool port_translation = false;       ///< 0x01
  bool protocol_translation = false;   ///< 0x02
  bool twice_nat = false;              ///< 0x04
  bool internal_wildcards = false;     ///< I: internal IP addresses may be wildcarded
  bool external_wildcards = false;     ///< E: external IP addresses may be wildcarded
  bool port_wildcards = false;         ///< P: ports may be wildcarded
  bool persistent = false;             ///< S: rules survive a restart of the middlebox
  std::uint8_t internal_versions = 1;  ///< IIV: bit 0 IPv4, bit 1 IPv6; never 0
  std::uint8_t external_versions = 1;  ///< EIV: bit 0 IPv4, bit 1 IPv6; never 0
  std::uint32_t lifetime_max_s = 0;    ///< maximum lifetime granted, seconds
  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

/// Policy rule lifetime (4.3.6), seconds. In an ARE, 0 means that the rule has ended.
struct Lifetime {
  std::uint32_t seconds = 0;
  friend auto operator<=>(const Lifetime&, const Lifetime&) = default;
};

/// First field of an address tuple (4.3.8).
enum class AddressForm : std::uint8_t { kFullAddress = 0, kProtocolsOnly = 1 };

/// The side of an address (4.3.8): A0 to A3 of RFC 5189.
enum class Location : std::uint8_t { kInternal = 0, kInside = 1, kOutside = 2, kExternal = 3 };

/// Port range that stands for all ports, and fits any range of the other side (8.3.1).
inline constexpr std::uint16_t kAnyPortRange = 0xFFFF;

/// IANA protocol numbers that this project names.
inline constexpr std::uint8_t kProtocolAny = 0;
inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint8_t kProtocolDccp = 33;
inline constexpr std::uint8_t kProtocolSctp = 132;
inline constexpr std::uint8_t kProtocolUdpLite = 136;

/// Address tuple (4.3.8). With `form` kProtocolsOnly only ip_version, prefix_length, protocol and
/// location are on the wire; the rest keeps its defaults. Host bits beyond the prefix are kept as
/// sent.
struct AddressTuple {
  AddressForm form = AddressForm::kFullAddress;
  IpVersion ip_version = IpVersion::kIpv4;
  std::uint8_t prefix_length = 32;  ///< significant bits of the address; fewer is a wildcard
  std::uint8_t protocol = 0;        ///< IANA protocol number; 0 is any, and ports are irrelevant
  Location location = Location::kInternal;
  std::uint16_t port = 0;        ///< first port; 0 is any
  std::uint16_t port_range = 1;  ///< number of consecutive ports, at least 1 unless irrelevant
  std::array<std::byte, 16> address{};  ///< network order; IPv4 uses the first four octets
  friend bool operator==(const AddressTuple&, const AddressTuple&) = default;
};
static_assert(sizeof(AddressTuple) <= 26, "kept in every policy rule, twice or more");

/// Returns the length of an address of `version`, bits.
constexpr std::uint8_t address_bits(IpVersion version) {
  return version == IpVersion::kIpv4 ? 32 : 128;
}

/// NAT mode of a reservation, NM (4.3.9).
enum class NatMode : std::uint8_t { kTraditional = 1, kTwice = 2 };
/// Port parity of a reservation, PP (4.3.9).
enum class ReservedParity : std::uint8_t { kAny = 0, kOdd = 1, kEven = 2 };
/// Requested IP version, IPi and IPo (4.3.9).
enum class RequestedIpVersion : std::uint8_t { kAny = 0, kIpv4 = 1, kIpv6 = 2 };

/// PRR parameter set (4.3.9).
struct PrrParameterSet {
  NatMode nat_mode = NatMode::kTraditional;
  ReservedParity parity = ReservedParity::kAny;
  RequestedIpVersion inside_version = RequestedIpVersion::kAny;
  RequestedIpVersion outside_version = RequestedIpVersion::kAny;
  std::uint8_t protocol = 0;     ///< IANA protocol number; 0 reserves the address alone
  std::uint16_t port_range = 1;  ///< consecutive ports, or kAnyPortRange
  friend bool operator==(const PrrParameterSet&, const PrrParameterSet&) = default;
};

/// Port parity of an enable request (4.3.10).
enum class PortParity : std::uint8_t { kAny = 0, kSame = 3 };
/// Direction of the enabled data stream (4.3.10).
enum class Direction : std::uint8_t { kInbound = 1, kOutbound = 2, kBidirectional = 3 };

/// PER parameter set (4.3.10), also of PEA requests and PES replies.
struct PerParameterSet {
  PortParity parity = PortParity::kAny;
  Direction direction = Direction::kInbound;
  friend bool operator==(const PerParameterSet&, const PerParameterSet&) = default;
};

}  // namespace simco
