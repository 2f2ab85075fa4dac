// Octets to messages and back (RFC 4540 sections 4 to 6). No I/O, no clock, no threads, no
// exceptions; decoding never reads past the span it is given and allocates for PRL replies only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "simco/wire/byte_io.hpp"
#include "simco/wire/limits.hpp"
#include "simco/wire/messages.hpp"

namespace simco {

/// The SIMCO header (4.2, figure 2), not yet judged.
struct Header {
  MessageType type;
  std::uint16_t length = 0;  ///< octets after the header
  TransactionId tid;
};

/// What is wrong with octets that should be a message. Each value names the rule it breaks.
enum class DecodeError : std::uint8_t {
  kTruncated,            ///< section 6 step 2: fewer octets than header and length ask for
  kImpossibleLength,     ///< step 1: length 1, 2 or 3, or above 65,528
  kLengthMismatch,       ///< step 1: more octets than one message (a user message over SCTP)
  kUndefinedBasicType,   ///< step 3: basic type not of 4.2.1
  kUndefinedSubType,     ///< step 4: sub-type not of 4.2.2 to 4.2.4 for this basic type
  kMissingAttribute,     ///< step 5: an attribute of the figure is not there
  kUnexpectedAttribute,  ///< step 5: unknown, repeated, out of order, or not in the figure
  kAttributeLength,      ///< step 5: length other than 4.3 allows
  kAttributeValue,       ///< step 5: an enumerated field has an undefined value
  kTrailingOctets,       ///< step 5: octets left over that are no attribute
};

/// One sentence for `error`.
const char* to_string(DecodeError error);

/// The step of section 6 that `error` fails, 1 to 5.
int section6_step(DecodeError error);

/// Reads the eight octets of a header. Judges nothing.
Header read_header(std::span<const std::byte, kHeaderSize> octets);

/// Header consistency (section 6 step 1): nothing, or kImpossibleLength.
std::optional<DecodeError> check_header(const Header& header);

/// Decodes exactly one message. Views in the result borrow from `octets`.
std::expected<Message, DecodeError> decode(std::span<const std::byte> octets);

/// Decodes the payload of a message whose header was judged already (steps 3 to 5).
std::expected<Message, DecodeError> decode_payload(const Header& header,
                                                   std::span<const std::byte> payload);

/// Size of `body` on the wire, header included, octets.
std::size_t encoded_size(const Body& body);

/// Appends the message to `out`. False, and nothing written, where `out` has less room than
/// encoded_size(). Variable parts above their limit (limits.hpp) are a programmer error.
bool encode(TransactionId tid, const Body& body, ByteWriter& out);
inline bool encode(const Message& message, ByteWriter& out) {
  return encode(message.tid, message.body, out);
}

}  // namespace simco
