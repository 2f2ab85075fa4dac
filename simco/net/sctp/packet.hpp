// The outside of SCTP packets (RFC 9260 section 3), as far as they must be looked at on their way
// to and from the userland stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace simco::net::sctp {

inline constexpr std::size_t kCommonHeader =
    12;                                         ///< source and destination port first, then the tag
inline constexpr std::size_t kChunkHeader = 4;  ///< type, flags, length with the header

inline std::uint16_t be16(std::span<const std::byte> at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[0]) << 8 |
                                    std::to_integer<unsigned>(at[1]));
}

inline std::uint32_t be32(std::span<const std::byte> at) {
  return std::uint32_t{be16(at)} << 16 | be16(at.subspan(2));
}

/// Chunks and parameters begin at multiples of four octets.
constexpr std::size_t padded(std::size_t length) { return (length + 3) / 4 * 4; }

/// Calls `use(rest)` at each chunk, with all that follows, up to a chunk of impossible length.
template <class Use>
void for_each_chunk_of(std::span<const std::byte> chunks, Use use) {
  while (chunks.size() >= kChunkHeader) {
    const std::size_t length = be16(chunks.subspan(2));
    use(chunks);
    if (length < kChunkHeader) return;
    chunks = chunks.subspan(std::min(chunks.size(), padded(length)));
  }
}

/// The same for a whole packet.
template <class Use>
void for_each_chunk(std::span<const std::byte> packet, Use use) {
  if (packet.size() > kCommonHeader) for_each_chunk_of(packet.subspan(kCommonHeader), use);
}

}  // namespace simco::net::sctp
