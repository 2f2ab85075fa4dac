// Writes keys and targets as octets, field by field in the order of fields_of().
#include "middlebox/backend/match/key_layout.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace simco::backend::match {

Fields fields_of(const Mask& mask) {
  if (mask.intervals) {
    return {Field::kInternalAddress, Field::kExternalAddress, Field::kProtocol,
            Field::kInternalPort, Field::kExternalPort};
  }
  Fields fields;
  // nft reads a masked value back only at the beginning of the key of a map.
  const bool prefix = mask.translates() && mask.external_bits != 0 &&
                      mask.external_bits < address_bits(mask.version);
  if (prefix) fields.push_back(Field::kExternalAddress);
  if (mask.internal_bits != 0) fields.push_back(Field::kInternalAddress);
  if (mask.external_bits != 0 && !prefix) fields.push_back(Field::kExternalAddress);
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

namespace {

/// The end of an interval.
Key last_of(const Key& key) {
  Key last = key;
  const auto fill = [](std::array<std::byte, 16>& address, unsigned bits) {
    const auto ones = prefix_mask(bits);
    for (std::size_t i = 0; i < address.size(); ++i) address[i] |= ~ones[i];
  };
  fill(last.internal, key.internal_bits);
  fill(last.external, key.external_bits);
  last.internal_port = key.internal_last;
  last.external_port = key.external_last;
  if (key.any_protocol != 0) last.protocol = 255;
  return last;
}

}  // namespace

// Every request takes this path: no list of fields.
KeyOctets key_octets(const Mask& mask, const Key& key, bool end) {
  if (end) return key_octets(mask, last_of(key));
  KeyOctets result;
  std::uint32_t parts = 0;
  std::uint32_t unpadded = 0;  // where the last part ends
  const auto put = [&]<std::size_t kSize>(const std::array<std::byte, kSize>& octets) {
    std::memcpy(result.octets.data() + result.size, octets.data(), kSize);
    unpadded = result.size + kSize;
    result.size += round_up(kSize);
    ++parts;
  };
  const auto put_address = [&](const std::array<std::byte, 16>& address) {
    if (mask.version == IpVersion::kIpv6) return put(address);
    put(std::array{address[0], address[1], address[2], address[3]});
  };
  // In the order of fields_of().
  if (mask.internal_bits != 0 || mask.intervals) put_address(key.internal);
  if (mask.external_bits != 0 || mask.intervals) put_address(key.external);
  if (mask.protocol || mask.intervals) put(std::array{std::byte{key.protocol}});
  if (mask.internal_port_bits != 0 || mask.intervals) put(port_octets(key.internal_port));
  if (mask.external_port_bits != 0 || mask.intervals) put(port_octets(key.external_port));
  if (parts == 0) put(std::array{std::byte{family_of(mask.version)}});
  if (parts <= 1) result.size = unpadded;
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
