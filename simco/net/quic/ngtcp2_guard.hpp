// The frames of a peer's packets, read before ngtcp2 does. Version 0.12.1 trusts peers that it has
// authenticated, and some frames of theirs would stop the program: those that retire an identifier
// twice (mended in ngtcp2 1.4.0), or more than it tracks. Pure: octets in, octets out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "simco/net/tls.hpp"

namespace simco::net::quic {

/// Which packets the frames are from.
enum class PacketForm : std::uint8_t {
  kLong,   ///< of the handshake (RFC 9000 17.2)
  kShort,  ///< of the connection (17.3)
};

/// Why a packet is refused, as the peer is told (a transport error code, RFC 9000 20.1).
enum class Refusal : std::uint16_t {
  /// Retire Prior To above 0: RFC 9000 allows it (19.15), but this end cannot do it.
  kInternal = 0x01,
  /// A frame that is malformed or of an unknown type (12.4).
  kFrameEncoding = 0x07,
  /// CRYPTO beyond kCryptoMax (7.5).
  kCryptoBufferExceeded = 0x0d,
  /// CRYPTO of an agent after the handshake: no message of TLS is left that it may send, and this
  /// alert is the error for one that it does send (RFC 9001 4.8, 6; RFC 8446 6.2).
  kUnexpectedMessage = 0x010a,
};

/// Returns why the library must not see the `frames` of a packet (RFC 9000 12.4, 19) that has come
/// to `side`; nothing if it may.
///
/// Each NEW_CONNECTION_ID becomes a PING and padding. So a connection uses the identifier with
/// which it began; only with a second one can the library retire any. At the agent, so does CRYPTO
/// after the handshake: a middlebox may send tickets (RFC 8446 4.6.1), and nothing here uses them.
std::optional<Refusal> guard(std::span<std::byte> frames, PacketForm form, TlsSide side);

}  // namespace simco::net::quic
