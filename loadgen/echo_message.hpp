// The message of the echo workload: a SIMCO header and a payload that tells if it came back whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "loadgen/limits.hpp"
#include "simco/wire/byte_io.hpp"
#include "simco/wire/codec.hpp"

namespace simco::loadgen {

/// Basic type of an echo message: none of RFC 4540's.
inline constexpr std::uint8_t kEchoBasicType = 0xEC;
/// Every octet of its payload.
inline constexpr std::byte kEchoFiller{0x40};

/// Fills `out`, kEchoSize octets.
inline void write_echo(TransactionId tid, std::span<std::byte> out) {
  ByteWriter writer(out);
  writer.u8(kEchoBasicType);
  writer.u8(0);
  writer.u16(static_cast<std::uint16_t>(kEchoSize - kHeaderSize));
  writer.u32(tid.value);
  std::ranges::fill(out.subspan(kHeaderSize), kEchoFiller);
}

/// TID of an echo message, or nothing where it is none or was damaged.
inline std::optional<TransactionId> read_echo(std::span<const std::byte> message) {
  if (message.size() != kEchoSize) return std::nullopt;
  const Header header = read_header(message.first<kHeaderSize>());
  const auto payload = message.subspan(kHeaderSize);
  const bool whole = std::ranges::all_of(payload, [](std::byte b) { return b == kEchoFiller; });
  if (header.type.basic != kEchoBasicType || !whole) return std::nullopt;
  return header.tid;
}

}  // namespace simco::loadgen
