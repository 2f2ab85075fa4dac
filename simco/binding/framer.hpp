// Finds the ends of SIMCO messages on any transport (RFC 4540 section 6 steps 1 and 2).
#pragma once

#include "simco/net/framer.hpp"
#include "simco/wire/codec.hpp"

namespace simco {

/// By the header's length field.
class MessageFramer final : public net::Framer {
 public:
  std::expected<std::size_t, net::FramingError> size_of(
      std::span<const std::byte> octets) const override {
    if (octets.size() < kHeaderSize) return kHeaderSize;
    const Header header = read_header(octets.first<kHeaderSize>());
    if (check_header(header)) return std::unexpected(net::FramingError::kImpossibleLength);
    return kHeaderSize + header.length;
  }
  std::size_t size_max() const override { return kMessageSizeMax; }
  std::uint32_t payload_protocol() const override { return kSimcoPayloadProtocol; }
};

/// Serves all channels.
inline constexpr MessageFramer kMessageFramer;

}  // namespace simco
