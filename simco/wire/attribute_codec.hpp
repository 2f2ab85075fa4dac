// Wire format of each attribute (RFC 4540 section 4.3), with the figure above the codec.
//
// An AttributeCodec<T> has the type code, the lengths the value may have, and three functions:
// length(value), read(reader over exactly the value, value) and write(writer, value). read() is
// called only with a length from kLengthMin to kLengthMax and returns whether the fields are
// defined.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simco/wire/attributes.hpp"
#include "simco/wire/byte_io.hpp"
#include "simco/wire/limits.hpp"

namespace simco::detail {

/// Why a value field was rejected.
enum class ValueFault : std::uint8_t { kNone, kLength, kField };

template <class T>
struct AttributeCodec;

/// Attributes whose values all have the same length.
template <class T, std::uint16_t Type, std::size_t Length>
struct FixedCodec {
  static constexpr std::uint16_t kType = Type;
  static constexpr std::size_t kLengthMin = Length;
  static constexpr std::size_t kLengthMax = Length;
  static std::size_t length(const T&) { return Length; }
};

/// Attributes of a 32-bit number.
template <class T, std::uint16_t Type, auto Member>
struct NumberCodec : FixedCodec<T, Type, 4> {
  static ValueFault read(ByteReader& in, T& out) {
    out.*Member = in.u32();
    return ValueFault::kNone;
  }
  static void write(ByteWriter& out, const T& value) { out.u32(value.*Member); }
};

/// Attributes that are octets of variable length.
template <class T, std::uint16_t Type, std::size_t Max>
struct OctetsCodec {
  static constexpr std::uint16_t kType = Type;
  static constexpr std::size_t kLengthMin = 0;
  static constexpr std::size_t kLengthMax = Max;
  static std::size_t length(const T& value) {
    SIMCO_ASSERT(value.octets.size() <= Max);
    return value.octets.size();
  }
  static ValueFault read(ByteReader& in, T& out) {
    out.octets = in.octets(in.remaining());
    return ValueFault::kNone;
  }
  static void write(ByteWriter& out, const T& value) { out.octets(value.octets); }
};

//  0                   1                   2                   3        figure 4
// |            0x0001             |            0x0004             |
// |major version #|minor version #|           reserved            |
template <>
struct AttributeCodec<ProtocolVersion> : FixedCodec<ProtocolVersion, 0x0001, 4> {
  static ValueFault read(ByteReader& in, ProtocolVersion& out) {
    out.major = in.u8();
    out.minor = in.u8();
    in.u16();
    return ValueFault::kNone;
  }
  static void write(ByteWriter& out, const ProtocolVersion& value) {
    out.u8(value.major);
    out.u8(value.minor);
    out.u16(0);
  }
};

// |            0x0002             |        challenge length       |     figure 5
// |                           challenge ...
template <>
struct AttributeCodec<Challenge> : OctetsCodec<Challenge, 0x0002, kAuthenticationSizeMax> {};

// |            0x0003             |     authentication length     |     figure 6
// |                      authentication token ...
template <>
struct AttributeCodec<Token> : OctetsCodec<Token, 0x0003, kAuthenticationSizeMax> {};

// |            0x0004             |            0x0008             |     figure 7
// |    MB type    |I|E|P|S|IIV|EIV|           reserved            |
// |                  max policy rule lifetime                     |
template <>
struct AttributeCodec<Capabilities> : FixedCodec<Capabilities, 0x0004, 8> {
  static ValueFault read(ByteReader& in, Capabilities& out) {
    const std::uint8_t type = in.u8();
    out.packet_filter = (type & 0x80) != 0;
    out.nat = (type & 0x40) != 0;
    out.disable_rules = (type & 0x10) != 0;
    out.port_translation = (type & 0x01) != 0;
    out.protocol_translation = (type & 0x02) != 0;
    out.twice_nat = (type & 0x04) != 0;
    const std::uint8_t flags = in.u8();
    out.internal_wildcards = (flags & 0x80) != 0;
    out.external_wildcards = (flags & 0x40) != 0;
    out.port_wildcards = (flags & 0x20) != 0;
    out.persistent = (flags & 0x10) != 0;
    out.internal_versions = (flags >> 2) & 0x3;
    out.external_versions = flags & 0x3;
    in.u16();
    out.lifetime_max_s = in.u32();
    const bool versions_given = out.internal_versions != 0 && out.external_versions != 0;
    return versions_given ? ValueFault::kNone : ValueFault::kField;
  }
  static void write(ByteWriter& out, const Capabilities& value) {
    const auto bit = [](bool set, unsigned mask) { return set ? mask : 0U; };
    out.u8(static_cast<std::uint8_t>(
        bit(value.packet_filter, 0x80) | bit(value.nat, 0x40) | bit(value.disable_rules, 0x10) |
        bit(value.port_translation, 0x01) | bit(value.protocol_translation, 0x02) |
        bit(value.twice_nat, 0x04)));
    out.u8(static_cast<std::uint8_t>(
        bit(value.internal_wildcards, 0x80) | bit(value.external_wildcards, 0x40) |
        bit(value.port_wildcards, 0x20) | bit(value.persistent, 0x10) |
        ((value.internal_versions & 0x3U) << 2) | (value.external_versions & 0x3U)));
    out.u16(0);
    out.u32(value.lifetime_max_s);
  }
};

// |            0x0005             |            0x0004             |     figure 8
// |                  policy rule identifier (PID)                 |
template <>
struct AttributeCodec<PolicyRuleId> : NumberCodec<PolicyRuleId, 0x0005, &PolicyRuleId::value> {};

// |            0x0006             |            0x0004             |     figure 9
// |                     group identifier (GID)                    |
template <>
struct AttributeCodec<GroupId> : NumberCodec<GroupId, 0x0006, &GroupId::value> {};

// |            0x0007             |            0x0004             |     figure 10
// |                      policy rule lifetime                     |
template <>
struct AttributeCodec<Lifetime> : NumberCodec<Lifetime, 0x0007, &Lifetime::seconds> {};

// |            0x0008             |          owner length         |     figure 11
// |                             owner ...
template <>
struct AttributeCodec<Owner> : OctetsCodec<Owner, 0x0008, kOwnerSizeMax> {};

// |            0x0009             |            0x0004             |     figure 12
// |  0x1  |IP ver.| prefix length |trnsp. protocol|   location    |
//
// |            0x0009             |            0x000C             |     IPv6: 0x0018
// |  0x0  |  0x1  | prefix length |trnsp. protocol|   location    |     IPv6: 0x2
// |          port number          |          port range           |
// |                IPv4 address (4 octets), IPv6 address (16 octets)
template <>
struct AttributeCodec<AddressTuple> {
  static constexpr std::uint16_t kType = 0x0009;
  static constexpr std::size_t kLengthMin = 4;
  static constexpr std::size_t kLengthMax = 24;
  static std::size_t length(const AddressTuple& value) {
    if (value.form == AddressForm::kProtocolsOnly) return 4;
    return value.ip_version == IpVersion::kIpv4 ? 12 : 24;
  }
  static ValueFault read(ByteReader& in, AddressTuple& out) {
    const std::size_t length = in.remaining();
    std::uint8_t first;
    std::uint8_t location;
    in.fields(first, out.prefix_length, out.protocol, location);
    const std::uint8_t form = first >> 4;
    const std::uint8_t version = first & 0x0F;
    if (form > 1 || version > 2 || location > 3) return ValueFault::kField;
    if (version == 0 && form == 0) return ValueFault::kField;
    out.form = static_cast<AddressForm>(form);
    out.ip_version = static_cast<IpVersion>(version);
    out.location = static_cast<Location>(location);
    if (length != AttributeCodec::length(out)) return ValueFault::kLength;
    if (out.form == AddressForm::kProtocolsOnly) return ValueFault::kNone;
    in.fields(out.port, out.port_range);
    const auto address = in.octets(in.remaining());
    std::copy(address.begin(), address.end(), out.address.begin());
    return ValueFault::kNone;
  }
  static void write(ByteWriter& out, const AddressTuple& value) {
    const auto first = static_cast<std::uint8_t>((static_cast<unsigned>(value.form) << 4) |
                                                 static_cast<unsigned>(value.ip_version));
    out.fields(first, value.prefix_length, value.protocol,
               static_cast<std::uint8_t>(value.location));
    if (value.form == AddressForm::kProtocolsOnly) return;
    out.fields(value.port, value.port_range);
    out.octets(std::span{value.address}.first(address_bits(value.ip_version) / 8));
  }
};

// |            0x000A             |            0x0004             |     figure 13
// |NM |PP |IPi|IPo|trnsp. protocol|           port range          |
template <>
struct AttributeCodec<PrrParameterSet> : FixedCodec<PrrParameterSet, 0x000A, 4> {
  static ValueFault read(ByteReader& in, PrrParameterSet& out) {
    const std::uint8_t first = in.u8();
    const std::uint8_t mode = first >> 6;
    const std::uint8_t parity = (first >> 4) & 0x3;
    const std::uint8_t inside = (first >> 2) & 0x3;
    const std::uint8_t outside = first & 0x3;
    out.protocol = in.u8();
    out.port_range = in.u16();
    if (mode < 1 || mode > 2 || parity > 2 || inside > 2 || outside > 2) return ValueFault::kField;
    out.nat_mode = static_cast<NatMode>(mode);
    out.parity = static_cast<ReservedParity>(parity);
    out.inside_version = static_cast<RequestedIpVersion>(inside);
    out.outside_version = static_cast<RequestedIpVersion>(outside);
    return ValueFault::kNone;
  }
  static void write(ByteWriter& out, const PrrParameterSet& value) {
    out.u8(static_cast<std::uint8_t>((static_cast<unsigned>(value.nat_mode) << 6) |
                                     (static_cast<unsigned>(value.parity) << 4) |
                                     (static_cast<unsigned>(value.inside_version) << 2) |
                                     static_cast<unsigned>(value.outside_version)));
    out.u8(value.protocol);
    out.u16(value.port_range);
  }
};

// |            0x000B             |            0x0004             |     figure 14
// |  port parity  |   direction   |           reserved            |
template <>
struct AttributeCodec<PerParameterSet> : FixedCodec<PerParameterSet, 0x000B, 4> {
  static ValueFault read(ByteReader& in, PerParameterSet& out) {
    const std::uint8_t parity = in.u8();
    const std::uint8_t direction = in.u8();
    in.u16();
    if ((parity != 0 && parity != 3) || direction < 1 || direction > 3) return ValueFault::kField;
    out.parity = static_cast<PortParity>(parity);
    out.direction = static_cast<Direction>(direction);
    return ValueFault::kNone;
  }
  static void write(ByteWriter& out, const PerParameterSet& value) {
    out.u8(static_cast<std::uint8_t>(value.parity));
    out.u8(static_cast<std::uint8_t>(value.direction));
    out.u16(0);
  }
};

}  // namespace simco::detail
