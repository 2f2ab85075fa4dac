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

/// The SIMCO header (4.2, figure 2), not yet checked.
struct Header {
  MessageType type;
  std::uint16_t length = 0;  ///< octets after the header
  TransactionId tid;
};

/// Why octets are not a message. Each value names the rule that they violate.
enum class DecodeError : std::uint8_t {
  kTruncated,            ///< section 6 step 2: fewer octets than header and length require
  kImpossibleLength,     ///< step 1: length 1, 2 or 3, or above 65,528
  kLengthMismatch,       ///< step 1: more octets than one message (a user message over SCTP)
  kUndefinedBasicType,   ///< step 3: basic type not of 4.2.1
  kUndefinedSubType,     ///< step 4: sub-type not of 4.2.2 to 4.2.4 for this basic type
  kMissingAttribute,     ///< step 5: an attribute of the figure is missing
  kUnexpectedAttribute,  ///< step 5: unknown, repeated, out of order, or not in the figure
  kAttributeLength,      ///< step 5: length other than 4.3 allows
  kAttributeValue,       ///< step 5: an enumerated field has an undefined value
  kTrailingOctets,       ///< step 5: trailing octets that are not an attribute
};

/// Returns a phrase for `error`.
const char* to_string(DecodeError error);

/// Returns the step of section 6 that `error` fails, 1 to 5.
int section6_step(DecodeError error);

/// Reads the eight octets of a header, without checks.
Header read_header(std::span<const std::byte, kHeaderSize> octets);

/// Checks the consistency of a header (section 6 step 1). Returns nullopt or kImpossibleLength.
std::optional<DecodeError> check_header(const Header& header);

/// Decodes exactly one message. Views in the result borrow from `octets`.
std::expected<Message, DecodeError> decode(std::span<const std::byte> octets);

/// Decodes the payload of a message whose header is consistent (steps 3 to 5).
std::expected<Message, DecodeError> decode_payload(const Header& header,
                                                   std::span<const std::byte> payload);

/// Returns the size of `body` on the wire, including the header, octets.
std::size_t encoded_size(const Body& body);

/// Appends the message to `out`. Returns false and writes nothing if `out` has less room than
/// encoded_size(). Variable parts above their limit (limits.hpp) are a programming error.
bool encode(TransactionId tid, const Body& body, ByteWriter& out);
inline bool encode(const Message& message, ByteWriter& out) {
  return encode(message.tid, message.body, out);
}

// --- Values of attributes, for storage ---------------------------------------------------------

/// The value of a PER parameter set (figure 14), octets.
inline constexpr std::size_t kPerParametersSize = 4;

/// Returns the size of the value of `tuple`, octets.
std::size_t value_size(const AddressTuple& tuple);
/// Appends the value, without its type and length, to `out`, which must have room for it.
void write_value(ByteWriter& out, const AddressTuple& tuple);
void write_value(ByteWriter& out, const PerParameterSet& parameters);
/// Reads the octets of a value. Returns nullopt if they are none.
std::optional<AddressTuple> read_tuple(std::span<const std::byte> octets);
std::optional<PerParameterSet> read_per_parameters(std::span<const std::byte> octets);

}  // namespace simco
