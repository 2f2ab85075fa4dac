// The message of the echo workload: its size, a number that tells to which transaction it belongs,
// and a filling that tells if it came back whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <span>

#include "loadgen/limits.hpp"
#include "simco/net/framer.hpp"
#include "simco/wire/byte_io.hpp"

namespace simco::loadgen {

/// Size (16 bits, of the whole message) and number (32 bits) of an echo message, octets.
inline constexpr std::size_t kEchoHeaderSize = 6;
/// Octets in front of its number.
inline constexpr std::uint32_t kEchoNumberAt = 2;
/// Every octet behind both.
inline constexpr std::byte kEchoFiller{0x40};

/// Tells echo messages apart by the size that they begin with.
class EchoFramer final : public net::Framer {
 public:
  std::expected<std::size_t, net::FramingError> size_of(
      std::span<const std::byte> octets) const override {
    if (octets.size() < kEchoHeaderSize) return kEchoHeaderSize;
    const std::size_t size = ByteReader(octets).u16();
    if (size < kEchoHeaderSize) return std::unexpected(net::FramingError::kImpossibleLength);
    return size;
  }
  std::size_t size_max() const override { return std::numeric_limits<std::uint16_t>::max(); }
};

/// Serves all channels.
inline constexpr EchoFramer kEchoFramer;

/// Fills `out`, kEchoSize octets.
inline void write_echo(std::uint32_t number, std::span<std::byte> out) {
  ByteWriter writer(out);
  writer.u16(static_cast<std::uint16_t>(out.size()));
  writer.u32(number);
  std::ranges::fill(out.subspan(kEchoHeaderSize), kEchoFiller);
}

/// Returns the number of an echo message; nothing if it is another or damaged.
inline std::optional<std::uint32_t> read_echo(std::span<const std::byte> message) {
  if (message.size() != kEchoSize) return std::nullopt;
  ByteReader reader(message);
  const std::size_t size = reader.u16();
  const std::uint32_t number = reader.u32();
  const auto filling = message.subspan(kEchoHeaderSize);
  const bool whole = std::ranges::all_of(filling, [](std::byte b) { return b == kEchoFiller; });
  if (size != message.size() || !whole) return std::nullopt;
  return number;
}

}  // namespace simco::loadgen
