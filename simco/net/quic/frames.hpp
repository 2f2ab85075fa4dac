// What a peer's packets hold, read before ngtcp2 does: it trusts peers that it has authenticated,
// and some frames of theirs would stop the program. Pure: octets in, octets out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace simco::net::quic {

/// Which packets the frames are from.
enum class PacketForm : std::uint8_t {
  kLong,   ///< of the handshake (RFC 9000 17.2)
  kShort,  ///< of the connection (17.3)
};

/// Returns whether the `frames` of a packet (RFC 9000 12.4, 19) may be read. They may not if they
/// are malformed, of an unknown type, or such that no peer of ours sends them: CRYPTO when the
/// handshake is over or beyond kCryptoMax, and identifiers that replace earlier ones.
///
/// Every NEW_CONNECTION_ID becomes a PING and padding. So a connection uses the identifier with
/// which it began; only with a second one can the library retire any, and what it tracks of that
/// has room for 16 and may name none twice.
bool admit(std::span<std::byte> frames, PacketForm form);

/// Makes `frames`, which are not empty, such that ngtcp2 ends the connection without reading on.
void spoil(std::span<std::byte> frames);

}  // namespace simco::net::quic
