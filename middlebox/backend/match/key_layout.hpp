// How the key of an element lies in memory: as the octets of a packet, each part of the key at a
// multiple of 32 bits, zeroes in between. A key of a single part is that part alone, without
// zeroes.
#pragma once

#include <absl/container/inlined_vector.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "middlebox/backend/match/element.hpp"

namespace simco::backend::match {

/// A part of a key.
enum class Field : std::uint8_t {
  kVersion,  ///< of a mask that compares nothing else
  kInternalAddress,
  kExternalAddress,
  kProtocol,
  kInternalPort,
  kExternalPort,
};
using Fields = absl::InlinedVector<Field, 8>;  // made for every element: no allocation

/// Returns the parts of a key of `mask`, in this order.
Fields fields_of(const Mask& mask);
/// Octets of a part, without the zeroes behind it.
std::uint32_t octets_of(Field field, IpVersion version);
std::uint32_t address_octets(IpVersion version);
/// Every part of a key begins at a multiple of 32 bits.
constexpr std::uint32_t round_up(std::uint32_t octets) { return (octets + 3) / 4 * 4; }
/// Octets of a key of `mask`.
std::uint32_t key_size(const Mask& mask);
/// AF_INET or AF_INET6.
std::uint8_t family_of(IpVersion version);
/// The first `bits` bits set.
std::array<std::byte, 16> prefix_mask(unsigned bits);
/// A port in network order.
std::array<std::byte, 2> port_octets(std::uint16_t port);

/// A key or a target: the first `size` octets count.
struct KeyOctets {
  std::array<std::byte, 48> octets{};
  std::uint32_t size = 0;
};
/// Returns a key of `mask` as octets; with `end` the last key of an interval.
KeyOctets key_octets(const Mask& mask, const Key& key, bool end = false);
/// Returns the fields that a translation of `mask` writes into packets: address, and port if it
/// changes.
KeyOctets target_octets(const Mask& mask, const Target& target);

}  // namespace simco::backend::match
