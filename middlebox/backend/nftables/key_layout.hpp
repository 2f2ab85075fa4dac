// How the key of an element lies in the kernel's registers, and the same as octets in messages.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "middlebox/backend/nftables/element.hpp"

namespace simco::backend::nftables {

/// A part of a key.
enum class Field : std::uint8_t {
  kVersion,  ///< of shapes that compare nothing else
  kInternalAddress,
  kExternalAddress,
  kProtocol,
  kInternalPort,
  kExternalPort,
};
using Fields = absl::InlinedVector<Field, 8>;  // made for every element: no allocation

/// What a key of `shape` is made of, in this order.
Fields fields_of(const Shape& shape);
std::uint32_t octets_of(Field field, IpVersion version);
std::uint32_t address_octets(IpVersion version);
/// Registers have 32 bits, and every part of a key begins in one.
constexpr std::uint32_t round_up(std::uint32_t octets) { return (octets + 3) / 4 * 4; }
/// Octets of a key in registers.
std::uint32_t key_size(const Shape& shape);
/// The number by which nft knows the type of such a key, so that it can print our sets.
std::uint32_t nft_type(std::span<const Field> fields, IpVersion version);
/// NFPROTO_IPV4 or NFPROTO_IPV6.
std::uint8_t family_of(IpVersion version);
/// The first `bits` bits set.
std::array<std::byte, 16> prefix_mask(unsigned bits);
/// A port in network order.
std::array<std::byte, 2> port_octets(std::uint16_t port);

struct KeyOctets {
  std::array<std::byte, 48> octets{};
  std::uint32_t size = 0;
};
/// A key of `shape` as the kernel compares it; with `end` the last one of an interval.
KeyOctets key_octets(const Shape& shape, const Key& key, bool end = false);
/// What a translation of `shape` puts into registers.
KeyOctets target_octets(const Shape& shape, const Target& target);

}  // namespace simco::backend::nftables
