// Writes keys and targets as octets, field by field in the order of fields_of().
#include "middlebox/backend/match/key_layout.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <span>

namespace simco::backend::match {

Fields fields_of(const Mask& mask) {
  if (mask.intervals) {
    return {Field::kInternalAddress, Field::kExternalAddress, Field::kProtocol,
            Field::kInternalPort, Field::kExternalPort};
  }
  Fields fields;
  if (mask.internal_bits != 0) fields.push_back(Field::kInternalAddress);
  if (mask.external_bits != 0) fields.push_back(Field::kExternalAddress);
  if (mask.protocol) fields.push_back(Field::kProtocol);
  if (mask.internal_port_bits != 0) fields.push_back(Field::kInternalPort);
  if (mask.external_port_bits != 0) fields.push_back(Field::kExternalPort);
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

std::uint32_t key_size(const Mask& mask) {
  const auto fields = fields_of(mask);
  if (fields.size() == 1) return octets_of(fields.front(), mask.version);
  std::uint32_t size = 0;
  for (const Field field : fields) size += round_up(octets_of(field, mask.version));
  return size;
}

std::uint8_t family_of(IpVersion version) {
  return version == IpVersion::kIpv4 ? AF_INET : AF_INET6;
}

std::array<std::byte, 16> prefix_mask(unsigned bits) {
  IpAddress all{IpVersion::kIpv6, {}};
  all.octets.fill(std::byte{0xFF});
  return masked(all, bits).octets;
}

std::array<std::byte, 2> port_octets(std::uint16_t port) {
  return {static_cast<std::byte>(port >> 8), static_cast<std::byte>(port & 0xFF)};
}

KeyOctets key_octets(const Mask& mask, const Key& key, bool end) {
  KeyOctets result;
  const auto put = [&](std::span<const std::byte> octets) {
    std::copy(octets.begin(), octets.end(), result.octets.begin() + result.size);
    result.size += round_up(static_cast<std::uint32_t>(octets.size()));
  };
  const auto put_address = [&](std::array<std::byte, 16> address, unsigned bits) {
    if (end) {
      const auto ones = prefix_mask(bits);
      for (std::size_t i = 0; i < address.size(); ++i) address[i] |= ~ones[i];
    }
    put(std::span(address).first(address_octets(mask.version)));
  };
  const auto fields = fields_of(mask);
  for (const Field field : fields) {
    std::byte octet{family_of(mask.version)};
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
  if (fields.size() == 1) result.size = octets_of(fields.front(), mask.version);
  return result;
}

KeyOctets target_octets(const Mask& mask, const Target& target) {
  KeyOctets result;
  const auto size = address_octets(mask.version);
  std::copy_n(target.address.begin(), size, result.octets.begin());
  result.size = size;
  if (!mask.target_port) return result;
  const auto port = port_octets(target.port);
  std::copy(port.begin(), port.end(), result.octets.begin() + size);
  result.size += round_up(2);
  return result;
}

}  // namespace simco::backend::match
