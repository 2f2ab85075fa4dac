// The bounds of the wire format. All of them are the RFC's; our own limits are in other headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simco {

/// Size of the SIMCO header (4.2), octets.
inline constexpr std::size_t kHeaderSize = 8;
/// Size of an attribute's type and length fields (4.3), octets.
inline constexpr std::size_t kAttributeHeaderSize = 4;
/// Maximum size of a message, including the header (8.7), octets.
inline constexpr std::size_t kMessageSizeMax = 65'536;
/// Largest value of the message length field within kMessageSizeMax.
inline constexpr std::size_t kPayloadSizeMax = kMessageSizeMax - kHeaderSize;
/// Challenge and token (4.3.2), octets.
inline constexpr std::size_t kAuthenticationSizeMax = 4096;
/// Policy rule owner (4.3.7), octets.
inline constexpr std::size_t kOwnerSizeMax = 255;
/// The longest value of an address tuple (4.3.8), octets.
inline constexpr std::size_t kTupleSizeMax = 24;
/// PID attributes that fit a PRL reply (5.3.16).
inline constexpr std::size_t kRuleListMax = kPayloadSizeMax / (kAttributeHeaderSize + 4);
static_assert(kRuleListMax == 8191);
/// Maximum size of an SE or SA request: nothing longer is valid before a session is open
/// (5.2.1, 5.2.4).
inline constexpr std::size_t kSessionControlSizeMax =
    kHeaderSize + (kAttributeHeaderSize + 4) + (kAttributeHeaderSize + kAuthenticationSizeMax);
/// TCP and SCTP port assigned to SIMCO servers (section 3).
inline constexpr std::uint16_t kSimcoPort = 7626;
/// SCTP payload protocol identifier that IANA registered for SIMCO.
inline constexpr std::uint32_t kSimcoPayloadProtocol = 15;

}  // namespace simco
