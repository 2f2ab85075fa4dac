// Loads the key that a packet is looked up by: from its headers, from its flow, or from the packet
// that it quotes.
#pragma once

#include <cstdint>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/table/rule.hpp"
#include "middlebox/backend/nftables/table/set_name.hpp"

namespace simco::backend::nftables {

/// Where a packet's key comes from.
enum class KeySource : std::uint8_t {
  kFromOutside,       ///< headers; the destination is internal
  kFromInside,        ///< headers; the source is internal
  kFlowBegunOutside,  ///< the flow that an ICMP error is about
  kFlowBegunInside,
  kQuotedFromOutside,  ///< the packet that an ICMP error quotes, behind the error's eight octets
  kQuotedFromInside,
  kQuotedPieceFromOutside,  ///< the same, the first piece of a fragmented IPv6 packet
  kQuotedPieceFromInside,
};

/// True if the key is in the packet's own headers.
constexpr bool in_headers(KeySource source) {
  return source == KeySource::kFromOutside || source == KeySource::kFromInside;
}
/// True if the key is in the headers of a quoted packet.
constexpr bool is_quoted(KeySource source) { return source >= KeySource::kQuotedFromOutside; }

/// Directions of a flow, as Rule::ct_direction() and Rule::load_ct() take them.
inline constexpr std::uint8_t kOriginal = 0;
inline constexpr std::uint8_t kReply = 1;

/// Adds expressions to `rule` that put the key that `mask` compares into the registers from 0 on.
void load_key(Rule& rule, KeySource source, const Mask& mask);
/// The same for the key that a quoted packet would have if it had come from where the error goes.
void load_key_of_receiver(Rule& rule, KeySource source, const Mask& mask);
/// Adds the condition that both ports are odd, or that both are even.
void require_parity(Rule& rule, KeySource source, IpVersion version, bool odd);
/// Adds the condition that the quoted packet has its headers where load_key() looks for them: IPv4
/// without options, no fragment but the first.
void require_quote(Rule& rule, KeySource source, IpVersion version);

}  // namespace simco::backend::nftables
