// A reader of numbers and octets, and the fields of each frame.
#include "simco/net/quic/ngtcp2_guard.hpp"

#include <algorithm>
#include <optional>

#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {
namespace {

constexpr std::byte kPadding{0x00};
constexpr std::byte kPing{0x01};
constexpr std::uint8_t kCrypto = 0x06;
constexpr std::uint8_t kNewConnectionId = 0x18;
constexpr std::uint8_t kStreamHasOffset = 0x04;
constexpr std::uint8_t kStreamHasLength = 0x02;

constexpr std::size_t kLongestId = 20;       // RFC 9000 17.2
constexpr std::size_t kResetTokenSize = 16;  // 10.3

/// Reads from the beginning of the rest.
class Reader {
 public:
  explicit Reader(std::span<std::byte> octets) : left_(octets) {}

  bool empty() const { return left_.empty(); }
  std::span<std::byte> left() const { return left_; }
  bool skip(std::uint64_t count) {
    if (count > left_.size()) return false;
    left_ = left_.subspan(static_cast<std::size_t>(count));
    return true;
  }
  void skip_all() { left_ = {}; }
  std::optional<std::uint8_t> octet() {
    if (left_.empty()) return std::nullopt;
    const auto result = std::to_integer<std::uint8_t>(left_.front());
    skip(1);
    return result;
  }
  /// RFC 9000 16.
  std::optional<std::uint64_t> number() {
    if (left_.empty()) return std::nullopt;
    const auto first = std::to_integer<std::uint64_t>(left_.front());
    const auto size = std::size_t{1} << (first >> 6);
    if (size > left_.size()) return std::nullopt;
    std::uint64_t result = first & 0x3f;
    for (const auto octet : left_.subspan(1, size - 1)) {
      result = result << 8 | std::to_integer<std::uint64_t>(octet);
    }
    skip(size);
    return result;
  }
  bool skip_numbers(std::uint64_t count) {
    for (; count != 0; --count) {
      if (!number()) return false;
    }
    return true;
  }
  /// A number, and as many octets.
  bool skip_counted() {
    const auto size = number();
    return size && skip(*size);
  }

 private:
  std::span<std::byte> left_;
};

// 19.3
bool read_ack(Reader& reader, bool ecn) {
  if (!reader.skip_numbers(2)) return false;
  const auto ranges = reader.number();
  // A range has two octets at least: more than there are would be counted for long.
  if (!ranges || *ranges > reader.left().size()) return false;
  return reader.skip_numbers(1 + 2 * *ranges + (ecn ? 3U : 0U));
}

/// A PING is acknowledged as well.
void take_out(std::span<std::byte> frame) {
  std::ranges::fill(frame, kPadding);
  frame.front() = kPing;
}

// 19.8
bool read_stream(Reader& reader, std::uint8_t type) {
  const bool has_offset = (type & kStreamHasOffset) != 0;
  if (!reader.skip_numbers(has_offset ? 2 : 1)) return false;
  if ((type & kStreamHasLength) != 0) return reader.skip_counted();
  reader.skip_all();
  return true;
}

/// All frames but those that the guard changes or refuses for their contents.
bool read_other(Reader& reader, std::uint8_t type) {
  switch (type) {
    case 0x00:               // PADDING
    case 0x01:               // PING
    case 0x1e: return true;  // HANDSHAKE_DONE
    case 0x02:               // ACK
    case 0x03: return read_ack(reader, type == 0x03);
    case 0x04: return reader.skip_numbers(3);  // RESET_STREAM
    case 0x05:                                 // STOP_SENDING
    case 0x11:                                 // MAX_STREAM_DATA
    case 0x15: return reader.skip_numbers(2);  // STREAM_DATA_BLOCKED
    case 0x07: return reader.skip_counted();   // NEW_TOKEN
    case 0x10:                                 // MAX_DATA
    case 0x12:                                 // MAX_STREAMS
    case 0x13:
    case 0x14:  // DATA_BLOCKED
    case 0x16:  // STREAMS_BLOCKED
    case 0x17:
    case 0x19: return reader.skip_numbers(1);  // RETIRE_CONNECTION_ID
    case 0x1a:                                 // PATH_CHALLENGE
    case 0x1b: return reader.skip(8);          // PATH_RESPONSE
    case 0x1c:                                 // CONNECTION_CLOSE
    case 0x1d: return reader.skip_numbers(type == 0x1c ? 2 : 1) && reader.skip_counted();
    default: return type >= 0x08 && type <= 0x0f && read_stream(reader, type);
  }
}

/// Reads one packet. Its functions return why it is refused.
class Guard {
 public:
  Guard(std::span<std::byte> frames, PacketForm form, TlsSide side)
      : reader_(frames), form_(form), side_(side) {}

  std::optional<Refusal> read() {
    while (!reader_.empty()) {
      const auto left = reader_.left();
      const auto type = *reader_.octet();
      auto refusal = read_frame(type);
      if (refusal) return refusal;
      if (type == kNewConnectionId || (type == kCrypto && form_ == PacketForm::kShort)) {
        take_out(left.first(left.size() - reader_.left().size()));
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Refusal> read_frame(std::uint8_t type) {
    if (type == kCrypto) return read_crypto();
    if (type == kNewConnectionId) return read_identifier();
    if (!read_other(reader_, type)) return Refusal::kFrameEncoding;
    return std::nullopt;
  }
  // 19.6. GnuTLS keeps a message that is not complete, so its length is bounded.
  std::optional<Refusal> read_crypto() {
    const auto offset = reader_.number();
    const auto size = reader_.number();
    if (!offset || !size || !reader_.skip(*size)) return Refusal::kFrameEncoding;
    if (form_ == PacketForm::kShort && side_ == TlsSide::kMiddlebox) {
      return Refusal::kUnexpectedMessage;
    }
    if (*offset > kCryptoMax || *size > kCryptoMax - *offset) {
      return Refusal::kCryptoBufferExceeded;
    }
    return std::nullopt;
  }
  // 19.15
  std::optional<Refusal> read_identifier() {
    const auto number = reader_.number();
    const auto retired_before = reader_.number();
    const auto size = reader_.octet();
    if (!number || !retired_before || *retired_before > *number || !size || *size == 0 ||
        *size > kLongestId || !reader_.skip(*size + kResetTokenSize)) {
      return Refusal::kFrameEncoding;
    }
    if (*retired_before != 0) return Refusal::kInternal;
    return std::nullopt;
  }

  Reader reader_;
  PacketForm form_;
  TlsSide side_;
};

}  // namespace

std::optional<Refusal> guard(std::span<std::byte> frames, PacketForm form, TlsSide side) {
  return Guard(frames, form, side).read();
}

}  // namespace simco::net::quic
