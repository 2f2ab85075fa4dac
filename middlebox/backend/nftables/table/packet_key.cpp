// Offsets into the headers of packets, and of packets behind the header of an ICMP error.
#include "middlebox/backend/nftables/table/chain_writer.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <array>
#include <cstddef>
#include <span>

namespace simco::backend::nftables {
namespace {

using match::address_octets;
using match::Field;

static_assert(NFPROTO_IPV4 == AF_INET && NFPROTO_IPV6 == AF_INET6);  // values of family_of()

/// Octets of an ICMP error before the packet that it quotes.
constexpr std::uint32_t kErrorHeader = 8;
constexpr std::uint32_t kIpv4Header = 20;
constexpr std::uint32_t kIpv6Header = 40;
constexpr std::uint32_t kFragmentHeader = 8;

bool is_piece(KeySource source) {
  return source == KeySource::kQuotedPieceFromOutside ||
         source == KeySource::kQuotedPieceFromInside;
}

bool is_from_inside(KeySource source) {
  return source == KeySource::kFromInside || source == KeySource::kQuotedFromInside ||
         source == KeySource::kQuotedPieceFromInside;
}

/// Where the address lies in an IP header.
std::uint32_t address_offset(IpVersion version, bool is_source) {
  return version == IpVersion::kIpv4 ? (is_source ? 12 : 16) : (is_source ? 8 : 24);
}

/// Whose address stands for the source of a quoted packet.
enum class QuotedSource : std::uint8_t { kItsOwn, kReceiver };

void load_address(Rule& rule, KeySource source, bool internal, const Mask& mask,
                  QuotedSource quoted, std::uint32_t reg) {
  const auto size = address_octets(mask.version);
  const bool is_source = internal == is_from_inside(source);
  if (in_headers(source)) {
    rule.load_network(address_offset(mask.version, is_source), size, reg);
  } else if (is_quoted(source) && is_source && quoted == QuotedSource::kReceiver) {
    rule.load_network(address_offset(mask.version, false), size, reg);
  } else if (is_quoted(source)) {
    rule.load_transport(kErrorHeader + address_offset(mask.version, is_source), size, reg);
  } else {
    // Translated or not, the end that began the flow is the original's source and the other end the
    // reply's source.
    const bool began = internal == (source == KeySource::kFlowBegunInside);
    rule.load_ct(mask.version == IpVersion::kIpv4 ? NFT_CT_SRC_IP : NFT_CT_SRC_IP6,
                 began ? kOriginal : kReply, reg);
  }
  const auto bits = internal ? mask.internal_bits : mask.external_bits;
  if (!mask.intervals && bits < size * 8) {
    const auto ones = match::prefix_mask(bits);
    rule.mask(reg, std::span(ones).first(size));
  }
}

void load_protocol(Rule& rule, KeySource source, IpVersion version, std::uint32_t reg) {
  if (in_headers(source)) {
    rule.load_meta(NFT_META_L4PROTO, reg);
  } else if (is_quoted(source)) {
    const std::uint32_t offset =
        version == IpVersion::kIpv4 ? 9 : (is_piece(source) ? kIpv6Header : 6);
    rule.load_transport(kErrorHeader + offset, 1, reg);
  } else {
    rule.load_ct(NFT_CT_PROTOCOL, reg);
  }
}

void load_port(Rule& rule, KeySource source, IpVersion version, bool internal, std::uint32_t reg) {
  const std::uint32_t offset = internal == is_from_inside(source) ? 0 : 2;
  if (in_headers(source)) {
    rule.load_transport(offset, 2, reg);
  } else if (is_quoted(source)) {
    const std::uint32_t header = version == IpVersion::kIpv4 ? kIpv4Header : kIpv6Header;
    rule.load_transport(kErrorHeader + header + (is_piece(source) ? kFragmentHeader : 0) + offset,
                        2, reg);
  } else {
    const bool began = internal == (source == KeySource::kFlowBegunInside);
    rule.load_ct(NFT_CT_PROTO_SRC, began ? kOriginal : kReply, reg);
  }
}

void load(Rule& rule, KeySource source, const Mask& mask, QuotedSource quoted) {
  static constexpr std::array<std::byte, 2> kPairMask = {std::byte{0xFF}, std::byte{0xFE}};
  std::uint32_t reg = 0;
  for (const Field field : fields_of(mask)) {
    switch (field) {
      case Field::kVersion: rule.load_meta(NFT_META_NFPROTO, reg); break;
      case Field::kInternalAddress: load_address(rule, source, true, mask, quoted, reg); break;
      case Field::kExternalAddress: load_address(rule, source, false, mask, quoted, reg); break;
      case Field::kProtocol: load_protocol(rule, source, mask.version, reg); break;
      case Field::kInternalPort:
        load_port(rule, source, mask.version, true, reg);
        if (mask.internal_port_bits == 15) rule.mask(reg, kPairMask);
        break;
      case Field::kExternalPort:
        load_port(rule, source, mask.version, false, reg);
        if (mask.external_port_bits == 15) rule.mask(reg, kPairMask);
        break;
    }
    reg += match::round_up(octets_of(field, mask.version)) / 4;
  }
}

}  // namespace

void load_key(Rule& rule, KeySource source, const Mask& mask) {
  load(rule, source, mask, QuotedSource::kItsOwn);
}

void load_key_of_receiver(Rule& rule, KeySource source, const Mask& mask) {
  load(rule, source, mask, QuotedSource::kReceiver);
}

void require_parity(Rule& rule, KeySource source, IpVersion version, bool odd) {
  const std::array<std::byte, 2> lowest = {std::byte{0}, std::byte{1}};
  const std::array<std::byte, 2> wanted = {std::byte{0}, odd ? std::byte{1} : std::byte{0}};
  for (const bool internal : {true, false}) {
    load_port(rule, source, version, internal, 0);
    rule.mask(0, lowest).equals(0, wanted);
  }
}

void require_quote(Rule& rule, KeySource source, IpVersion version) {
  constexpr std::array<std::byte, 2> kNone = {};
  if (version == IpVersion::kIpv4) {
    constexpr std::uint8_t kVersionAndLength = 0x45;
    constexpr std::uint32_t kOffsetAt = 6;
    constexpr std::array<std::byte, 2> kOffset = {std::byte{0x1F}, std::byte{0xFF}};
    rule.load_transport(kErrorHeader, 1, 0).equals(0, kVersionAndLength);
    rule.load_transport(kErrorHeader + kOffsetAt, 2, 0).mask(0, kOffset).equals(0, kNone);
    return;
  }
  constexpr std::array<std::byte, 1> kVersionBits = {std::byte{0xF0}};
  constexpr std::uint8_t kVersionSix = 0x60;
  rule.load_transport(kErrorHeader, 1, 0).mask(0, kVersionBits).equals(0, kVersionSix);
  if (!is_piece(source)) return;
  constexpr std::uint32_t kNextHeaderAt = 6;
  constexpr std::uint32_t kOffsetAt = kIpv6Header + 2;
  constexpr std::array<std::byte, 2> kOffset = {std::byte{0xFF}, std::byte{0xF8}};
  rule.load_transport(kErrorHeader + kNextHeaderAt, 1, 0).equals(0, std::uint8_t{IPPROTO_FRAGMENT});
  rule.load_transport(kErrorHeader + kOffsetAt, 2, 0).mask(0, kOffset).equals(0, kNone);
}

}  // namespace simco::backend::nftables
