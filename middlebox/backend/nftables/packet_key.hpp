// Loads the key that a packet is looked up by, from its headers or from the flow it belongs to.
#pragma once

#include <cstdint>

#include "middlebox/backend/nftables/rule.hpp"
#include "middlebox/backend/nftables/set_name.hpp"

namespace simco::backend::nftables {

/// Where a packet's key comes from.
enum class KeySource : std::uint8_t {
  kFromOutside,       ///< headers; the destination is internal
  kFromInside,        ///< headers; the source is internal
  kFlowBegunOutside,  ///< the flow that an ICMP error is about
  kFlowBegunInside,
};

/// True if the key is in the packet's own headers.
constexpr bool in_headers(KeySource source) {
  return source == KeySource::kFromOutside || source == KeySource::kFromInside;
}

/// Directions of a flow, as Rule::ct_direction() and Rule::load_ct() take them.
inline constexpr std::uint8_t kOriginal = 0;
inline constexpr std::uint8_t kReply = 1;

/// Adds expressions to `rule` that put the key that `mask` compares into the registers from 0 on.
void load_key(Rule& rule, KeySource source, const Mask& mask);
/// Adds the condition that both ports are odd, or that both are even.
void require_parity(Rule& rule, KeySource source, bool odd);

}  // namespace simco::backend::nftables
