// Where messages begin and end. Channels carry octets; the user of a channel supplies a Framer that
// divides them into messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

namespace simco::net {

/// Why octets are not a message.
enum class FramingError : std::uint8_t {
  kImpossibleLength,  ///< the header gives a length that no message has
  kTruncated,         ///< a user message ends before the message that it begins with
  kTrailingOctets,    ///< a user message goes on after the message that it begins with
  kUnknownLength,     ///< the beginning does not give the message's length
};

/// Returns a sentence for `error`.
constexpr const char* to_string(FramingError error) {
  switch (error) {
    case FramingError::kImpossibleLength: return "message length is impossible";
    case FramingError::kTruncated: return "message is shorter than its header says";
    case FramingError::kTrailingOctets: return "data does not end with the message";
    case FramingError::kUnknownLength: return "message does not give its length";
  }
  return "malformed message";
}

/// The channels' view of the protocol above: pure functions, so that all channels share a framer.
/// It must outlive them.
class Framer {
 public:
  /// Returns how many octets the message has that begins with `octets`. A number no greater than
  /// `octets.size()` is its size. A greater result is the number of octets needed at least: with so
  /// many, the framer knows the size or asks for more. Never 0.
  virtual std::expected<std::size_t, FramingError> size_of(
      std::span<const std::byte> octets) const = 0;
  /// Returns how many octets beyond those that it needs a framer wants to see of a message that
  /// came in pieces. A framer that searches the end of a header searches once instead of at each
  /// octet; a framer with the size at a fixed place wants none.
  virtual std::size_t lookahead() const { return 0; }
  /// Returns the reason if `received` octets of a user message or datagram are not exactly one
  /// message; `octets` are the kept part, from the beginning. Here: the size must be that of
  /// size_of().
  virtual std::optional<FramingError> fault_in(std::span<const std::byte> octets,
                                               std::size_t received) const {
    const auto size = size_of(octets);
    if (!size) return size.error();
    if (*size > received) return FramingError::kTruncated;
    if (*size < received) return FramingError::kTrailingOctets;
    return std::nullopt;
  }
  /// Returns the size of the longest message, octets; kUserMessageMax at most.
  virtual std::size_t size_max() const = 0;
  /// Returns the protocol's SCTP payload protocol identifier (RFC 9260 3.3.1); 0: unspecified.
  virtual std::uint32_t payload_protocol() const { return 0; }

 protected:
  ~Framer() = default;
};

}  // namespace simco::net
