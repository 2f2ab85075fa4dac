#include "middlebox/backend/nftables/packet_key.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <array>
#include <cstddef>
#include <span>

#include "middlebox/backend/match/key_layout.hpp"

namespace simco::backend::nftables {
namespace {

using match::address_octets;
using match::Field;

static_assert(NFPROTO_IPV4 == AF_INET && NFPROTO_IPV6 == AF_INET6);  // what family_of() says

void load_address(Rule& rule, KeySource source, bool internal, const Mask& mask,
                  std::uint32_t reg) {
  const bool ipv4 = mask.version == IpVersion::kIpv4;
  const auto size = address_octets(mask.version);
  if (in_headers(source)) {
    const bool is_source = internal == (source == KeySource::kFromInside);
    const std::uint32_t offset = ipv4 ? (is_source ? 12 : 16) : (is_source ? 8 : 24);
    rule.load_network(offset, size, reg);
  } else {
    // Translated or not, the end that began the flow is the original's source and the other one the
    // reply's source.
    const bool began = internal == (source == KeySource::kFlowBegunInside);
    rule.load_ct(ipv4 ? NFT_CT_SRC_IP : NFT_CT_SRC_IP6, began ? kOriginal : kReply, reg);
  }
  const auto bits = internal ? mask.internal_bits : mask.external_bits;
  if (!mask.intervals && bits < size * 8) {
    const auto ones = match::prefix_mask(bits);
    rule.mask(reg, std::span(ones).first(size));
  }
}

void load_port(Rule& rule, KeySource source, bool internal, std::uint32_t reg) {
  if (in_headers(source)) {
    const bool is_source = internal == (source == KeySource::kFromInside);
    rule.load_transport(is_source ? 0 : 2, 2, reg);
  } else {
    const bool began = internal == (source == KeySource::kFlowBegunInside);
    rule.load_ct(NFT_CT_PROTO_SRC, began ? kOriginal : kReply, reg);
  }
}

}  // namespace

void load_key(Rule& rule, KeySource source, const Mask& mask) {
  static constexpr std::array<std::byte, 2> kPairMask = {std::byte{0xFF}, std::byte{0xFE}};
  std::uint32_t reg = 0;
  for (const Field field : fields_of(mask)) {
    switch (field) {
      case Field::kVersion: rule.load_meta(NFT_META_NFPROTO, reg); break;
      case Field::kInternalAddress: load_address(rule, source, true, mask, reg); break;
      case Field::kExternalAddress: load_address(rule, source, false, mask, reg); break;
      case Field::kProtocol:
        if (in_headers(source))
          rule.load_meta(NFT_META_L4PROTO, reg);
        else
          rule.load_ct(NFT_CT_PROTOCOL, reg);
        break;
      case Field::kInternalPort:
        load_port(rule, source, true, reg);
        if (mask.internal_port_bits == 15) rule.mask(reg, kPairMask);
        break;
      case Field::kExternalPort:
        load_port(rule, source, false, reg);
        if (mask.external_port_bits == 15) rule.mask(reg, kPairMask);
        break;
    }
    reg += match::round_up(octets_of(field, mask.version)) / 4;
  }
}

void require_parity(Rule& rule, KeySource source, bool odd) {
  const std::array<std::byte, 2> lowest = {std::byte{0}, std::byte{1}};
  const std::array<std::byte, 2> wanted = {std::byte{0}, odd ? std::byte{1} : std::byte{0}};
  for (const bool internal : {true, false}) {
    load_port(rule, source, internal, 0);
    rule.mask(0, lowest).equals(0, wanted);
  }
}

}  // namespace simco::backend::nftables
