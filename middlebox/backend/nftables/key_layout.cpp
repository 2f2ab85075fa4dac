#include "middlebox/backend/nftables/key_layout.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>

#include <algorithm>
#include <span>

namespace simco::backend::nftables {
namespace {

/// The numbers by which nft knows its types, so that it can print our sets.
std::uint32_t nft_type(Field field, IpVersion version) {
  constexpr std::uint32_t kNfProto = 2;
  constexpr std::uint32_t kIpv4Address = 7;
  constexpr std::uint32_t kIpv6Address = 8;
  constexpr std::uint32_t kInetProto = 12;
  constexpr std::uint32_t kInetService = 13;
  switch (field) {
    case Field::kVersion: return kNfProto;
    case Field::kProtocol: return kInetProto;
    case Field::kInternalAddress:
    case Field::kExternalAddress: return version == IpVersion::kIpv4 ? kIpv4Address : kIpv6Address;
    case Field::kInternalPort:
    case Field::kExternalPort: return kInetService;
  }
  return 0;
}

}  // namespace

Fields fields_of(const Shape& shape) {
  if (shape.intervals) {
    return {Field::kInternalAddress, Field::kExternalAddress, Field::kProtocol,
            Field::kInternalPort, Field::kExternalPort};
  }
  Fields fields;
  if (shape.internal_bits != 0) fields.push_back(Field::kInternalAddress);
  if (shape.external_bits != 0) fields.push_back(Field::kExternalAddress);
  if (shape.protocol) fields.push_back(Field::kProtocol);
  if (shape.internal_port_bits != 0) fields.push_back(Field::kInternalPort);
  if (shape.external_port_bits != 0) fields.push_back(Field::kExternalPort);
  if (fields.empty()) fields.push_back(Field::kVersion);
  return fields;
}

std::uint32_t address_octets(IpVersion version) { return address_bits(version) / 8U; }

std::uint32_t octets_of(Field field, IpVersion version) {
  switch (field) {
    case Field::kInternalAddress:
    case Field::kExternalAddress: return address_octets(version);
    case Field::kInternalPort:
    case Field::kExternalPort: return 2;
    case Field::kVersion:
    case Field::kProtocol: return 1;
  }
  return 1;
}

std::uint32_t key_size(const Shape& shape) {
  std::uint32_t size = 0;
  for (const Field field : fields_of(shape)) size += round_up(octets_of(field, shape.version));
  return size;
}

std::uint32_t nft_type(std::span<const Field> fields, IpVersion version) {
  std::uint32_t type = 0;
  for (const Field field : fields) type = type << 6 | nft_type(field, version);
  return type;
}

std::uint8_t family_of(IpVersion version) {
  return version == IpVersion::kIpv4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
}

std::array<std::byte, 16> prefix_mask(unsigned bits) {
  IpAddress all{IpVersion::kIpv6, {}};
  all.octets.fill(std::byte{0xFF});
  return masked(all, bits).octets;
}

std::array<std::byte, 2> port_octets(std::uint16_t port) {
  return {static_cast<std::byte>(port >> 8), static_cast<std::byte>(port & 0xFF)};
}

KeyOctets key_octets(const Shape& shape, const Key& key, bool end) {
  KeyOctets result;
  const auto put = [&](std::span<const std::byte> octets) {
    std::copy(octets.begin(), octets.end(), result.octets.begin() + result.size);
    result.size += round_up(static_cast<std::uint32_t>(octets.size()));
  };
  const auto put_address = [&](std::array<std::byte, 16> address, unsigned bits) {
    if (end) {
      const auto mask = prefix_mask(bits);
      for (std::size_t i = 0; i < address.size(); ++i) address[i] |= ~mask[i];
    }
    put(std::span(address).first(address_octets(shape.version)));
  };
  for (const Field field : fields_of(shape)) {
    std::byte octet{family_of(shape.version)};
    switch (field) {
      case Field::kVersion: put({&octet, 1}); break;
      case Field::kInternalAddress: put_address(key.internal, key.internal_bits); break;
      case Field::kExternalAddress: put_address(key.external, key.external_bits); break;
      case Field::kProtocol:
        octet = key.any_protocol == 0 ? std::byte{key.protocol} : std::byte(end ? 255 : 0);
        put({&octet, 1});
        break;
      case Field::kInternalPort:
        put(port_octets(end ? key.internal_last : key.internal_port));
        break;
      case Field::kExternalPort:
        put(port_octets(end ? key.external_last : key.external_port));
        break;
    }
  }
  return result;
}

KeyOctets target_octets(const Shape& shape, const Target& target) {
  KeyOctets result;
  const auto size = address_octets(shape.version);
  std::copy_n(target.address.begin(), size, result.octets.begin());
  result.size = size;
  if (!shape.target_port) return result;
  const auto port = port_octets(target.port);
  std::copy(port.begin(), port.end(), result.octets.begin() + size);
  result.size += round_up(2);
  return result;
}

}  // namespace simco::backend::nftables
