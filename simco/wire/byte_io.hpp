// The only place that turns octets into integers and back. Every bound is checked here, by
// comparing with the remaining size (never by adding up), so that no codec above can read or write
// past its end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "simco/wire/assert.hpp"

namespace simco {

namespace detail {
/// Between the machine's order of octets and the network's, either way.
template <class Int>
constexpr Int big_endian(Int value) {
  return std::endian::native == std::endian::little ? std::byteswap(value) : value;
}
}  // namespace detail

/// Reads big-endian fields from a span. A read past the end makes the reader fail for good: it
/// returns zeros from then on and ok() is false. Does not own the octets.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> octets) : octets_(octets) {}

  bool ok() const { return ok_; }
  std::size_t remaining() const { return octets_.size(); }

  std::uint8_t u8() { return one<std::uint8_t>(); }
  std::uint16_t u16() { return one<std::uint16_t>(); }
  std::uint32_t u32() { return one<std::uint32_t>(); }
  /// Reads fields of 1, 2 or 4 octets one after the other.
  template <class... Fields>
  void fields(Fields&... values) {
    constexpr std::size_t kSize = (sizeof(Fields) + ...);
    if (octets_.size() < kSize) {
      fail();
      return static_cast<void>(((values = 0), ...));
    }
    const std::byte* at = octets_.data();
    ((at = get(at, values)), ...);
    octets_ = octets_.subspan(kSize);
  }

  /// The next `count` octets, as a view.
  std::span<const std::byte> octets(std::size_t count) {
    if (count > octets_.size()) {
      fail();
      return {};
    }
    const auto head = octets_.first(count);
    octets_ = octets_.subspan(count);
    return head;
  }

 private:
  template <class Field>
  Field one() {
    Field value;
    fields(value);
    return value;
  }
  template <class Field>
  static const std::byte* get(const std::byte* at, Field& value) {
    std::memcpy(&value, at, sizeof value);
    value = detail::big_endian(value);
    return at + sizeof value;
  }
  void fail() {
    ok_ = false;
    octets_ = {};
  }

  std::span<const std::byte> octets_;
  bool ok_ = true;
};

/// Writes big-endian fields into a buffer that the caller owns. Writing past the end is a
/// programmer error (encode() compares sizes first) and aborts.
class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> buffer) : buffer_(buffer) {}

  std::size_t written() const { return written_; }
  std::size_t remaining() const { return buffer_.size() - written_; }

  void u8(std::uint8_t value) { fields(value); }
  void u16(std::uint16_t value) { fields(value); }
  void u32(std::uint32_t value) { fields(value); }
  /// Writes fields of 1, 2 or 4 octets one after the other.
  template <class... Fields>
  void fields(Fields... values) {
    SIMCO_ASSERT((sizeof(Fields) + ...) <= remaining());
    std::byte* at = buffer_.data() + written_;
    ((at = put(at, values)), ...);
    written_ += (sizeof(Fields) + ...);
  }
  /// Returns the next `count` octets of the buffer, for the caller to fill.
  std::span<std::byte> take(std::size_t count) {
    SIMCO_ASSERT(count <= remaining());
    written_ += count;
    return buffer_.subspan(written_ - count, count);
  }
  void octets(std::span<const std::byte> source) {
    SIMCO_ASSERT(source.size() <= remaining());
    if (!source.empty()) std::memcpy(buffer_.data() + written_, source.data(), source.size());
    written_ += source.size();
  }

 private:
  template <class Field>
  static std::byte* put(std::byte* at, Field value) {
    const auto octets = detail::big_endian(value);
    std::memcpy(at, &octets, sizeof octets);
    return at + sizeof octets;
  }

  std::span<std::byte> buffer_;
  std::size_t written_ = 0;
};

}  // namespace simco
