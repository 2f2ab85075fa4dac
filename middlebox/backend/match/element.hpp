// The elements that packets are looked up in: a mask (the compared bits) and a key (their values).
// Pure values.
#pragma once

#include <absl/hash/hash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "middlebox/backend/match/mask.hpp"

namespace simco::backend::match {

/// Contents of an element. Parts that the mask does not compare are 0. Has no padding.
struct Key {
  std::array<std::byte, 16> internal{};
  std::array<std::byte, 16> external{};
  std::uint16_t internal_port = 0;
  std::uint16_t internal_last = 0;  ///< of an interval; otherwise as internal_port
  std::uint16_t external_port = 0;
  std::uint16_t external_last = 0;
  std::uint8_t internal_bits = 0;  ///< of an interval; otherwise 0
  std::uint8_t external_bits = 0;
  std::uint8_t protocol = 0;
  std::uint8_t any_protocol = 0;  ///< of an interval: 1 if the protocol does not matter

  friend bool operator==(const Key&, const Key&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const Key& key) {
    // Word by word: a third of the time of hashing it as a string of octets.
    std::array<std::uint64_t, 6> words{};
    std::memcpy(words.data(), &key, sizeof key);
    return H::combine(std::move(state), words[0], words[1], words[2], words[3], words[4], words[5]);
  }
};
static_assert(sizeof(Key) == 44);

/// Returns true if a packet could match both intervals.
bool overlap(const Key& a, const Key& b);

/// Both ends of a packet, on their own sides of the middlebox.
struct Ends {
  IpVersion version = IpVersion::kIpv4;
  std::uint8_t protocol = 0;
  std::array<std::byte, 16> internal{};
  std::array<std::byte, 16> external{};
  std::uint16_t internal_port = 0;
  std::uint16_t external_port = 0;
};
/// Returns whether the ports of such a packet are a pair of `mask`: if an element stands for two
/// ports on both sides, even goes with even.
bool ports_match(const Mask& mask, const Ends& ends);
/// Returns the element of `mask`, which has no intervals, that such a packet hits, if
/// ports_match().
Key key_of(const Mask& mask, const Ends& ends);
/// Returns the interval that such a packet makes up alone.
Key point_of(const Ends& ends);

/// The values that a translation writes into packets.
struct Target {
  std::array<std::byte, 16> address{};
  std::uint16_t port = 0;
  friend bool operator==(const Target&, const Target&) = default;
};

/// A mask and key to look up, and the effect of a hit.
struct Element {
  Mask mask;
  Key key;
  Target target;  ///< of a translation
};

}  // namespace simco::backend::match
