// Octets to a SIP message (RFC 3261 section 7): the start line, the header fields that the workload
// needs, the body. No octet of a peer is trusted; nothing is copied, nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>

#include "loadgen/sip/limits.hpp"
#include "simco/net/framer.hpp"

namespace simco::loadgen::sip {

/// Why octets are not a SIP message that we understand.
enum class Fault : std::uint8_t {
  kNoStartLine,    ///< it does not begin as a request or response does
  kNoHeaderEnd,    ///< no empty line within kHeaderMax octets
  kTooManyFields,  ///< more than kFieldsMax
  kBadField,       ///< a line without a field, or a field that we need and cannot read
  kMissingField,   ///< Via, From, To, Call-ID or CSeq (8.1.1)
  kBadLength,      ///< Content-Length has no number, several, or more than kMessageMax
  kShortBody,      ///< fewer octets than Content-Length
};

/// Returns a phrase for `fault`.
const char* to_string(Fault fault);

/// A header field that responses repeat or clients read.
enum class FieldName : std::uint8_t {
  kVia,
  kFrom,
  kTo,
  kCallId,
  kCSeq,
  kContact,
  kRecordRoute,
  kContentLength,
  kOther,
};

/// A header field; folded lines are part of its value.
struct Field {
  FieldName name = FieldName::kOther;
  std::string_view value;  ///< without white space around it
};

/// The topmost Via (20.42), of which the transaction and the way back are read.
struct Via {
  std::string_view text;     ///< all of this element
  std::string_view sent_by;  ///< host, and port if it is there
  std::string_view branch;   ///< empty if there is none
};

/// A message whose texts are views into the octets that it was read from.
struct Message {
  std::string_view method;       ///< of a request; empty for a response
  std::string_view uri;          ///< of a request
  std::uint16_t status = 0;      ///< of a response, 100 to 699
  std::uint32_t cseq = 0;        ///< number of the CSeq
  std::string_view cseq_method;  ///< of a request, the same as its own
  Via via;                       ///< the topmost
  std::string_view from;
  std::string_view to;
  std::string_view call_id;
  std::string_view contact;  ///< the first; empty without
  std::string_view body;

  bool is_request() const { return status == 0; }
  /// Returns all fields in their order.
  std::span<const Field> fields() const { return std::span{all_fields_}.first(field_count_); }

 private:
  friend class MessageParser;
  std::array<Field, kFieldsMax> all_fields_;
  std::size_t field_count_ = 0;
};

/// Reads a message that came whole: octets behind its body are dropped (18.3). Line ends before it
/// are skipped (7.5).
std::expected<Message, Fault> parse_message(std::string_view text);

/// Returns the number of octets up to and with the empty line, or nothing if there is none.
std::optional<std::size_t> header_size(std::string_view text);

/// Returns the Content-Length of `header`, which ends with the empty line; nothing without it.
std::expected<std::optional<std::size_t>, Fault> content_length(std::string_view header);

/// Reads the topmost element of a Via field.
std::optional<Via> read_via(std::string_view value);

/// Finds where messages begin and end (RFC 3261 18.3, RFC 4168): by Content-Length in a stream of
/// octets; over SCTP and UDP a message is a user message or a datagram. Also finds the empty lines
/// that keep connections alive (RFC 5626 3.5.1), as messages of two octets.
class SipFramer final : public net::Framer {
 public:
  std::expected<std::size_t, net::FramingError> size_of(
      std::span<const std::byte> octets) const override;
  std::size_t lookahead() const override { return kLookahead; }
  /// The parser finds its errors.
  std::optional<net::FramingError> fault_in(std::span<const std::byte> octets,
                                            std::size_t received) const override;
  std::size_t size_max() const override { return kMessageMax; }
};

/// Serves all channels.
inline constexpr SipFramer kSipFramer;

/// Returns the octets as text.
inline std::string_view text_of(std::span<const std::byte> octets) {
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

}  // namespace simco::loadgen::sip
