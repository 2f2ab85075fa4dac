// One decoder and one encoder for all messages, driven by the kAttributes table of each struct: a
// message cannot be decoded one way and encoded another.
#include "simco/wire/codec.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

#include "simco/wire/attribute_codec.hpp"

namespace simco {
namespace {

using detail::AttributeCodec;
using detail::ValueFault;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// Walks the attributes of one payload in order.
class AttributeReader {
 public:
  AttributeReader(std::span<const std::byte> payload, bool is_request)
      : in_(payload), is_request_(is_request) {
    next();
  }

  /// The error; meaningful when finish() was false.
  DecodeError error() const { return error_; }

  /// True if every octet was part of an attribute that was read.
  bool finish() { return !failed_ && (!present_ || fail(DecodeError::kUnexpectedAttribute)); }

  template <class T>
  bool read(T& out) {
    if (failed_) return false;
    if (!present_) return fail(DecodeError::kMissingAttribute);
    if (type_ != AttributeCodec<T>::kType) return fail(DecodeError::kUnexpectedAttribute);
    return take(out);
  }
  template <class T>
  bool read(std::optional<T>& out) {
    if (failed_) return false;
    if (!present_ || type_ != AttributeCodec<T>::kType) return true;
    return take(out.emplace());
  }
  template <class T>
  bool read(std::vector<T>& out) {
    out.reserve(remaining_attributes());
    while (present_ && type_ == AttributeCodec<T>::kType) {
      if (!take(out.emplace_back())) return false;
    }
    return !failed_;
  }

 private:
  static constexpr std::size_t kNumberAttributeSize = kAttributeHeaderSize + 4;

  bool fail(DecodeError error) {
    error_ = error;
    failed_ = true;
    present_ = false;
    return false;
  }
  std::size_t remaining_attributes() const {
    return (present_ ? 1 : 0) + in_.remaining() / kNumberAttributeSize;
  }
  void next() {
    present_ = in_.remaining() >= kAttributeHeaderSize;
    if (!present_) {
      if (in_.remaining() != 0) fail(DecodeError::kTrailingOctets);
      return;
    }
    in_.fields(type_, length_);
    if (length_ > in_.remaining()) fail(DecodeError::kAttributeLength);
  }
  template <class T>
  bool take(T& out) {
    using Codec = AttributeCodec<T>;
    if (length_ < Codec::kLengthMin || length_ > Codec::kLengthMax) {
      return fail(DecodeError::kAttributeLength);
    }
    ByteReader value(in_.octets(length_));
    switch (Codec::read(value, out)) {
      case ValueFault::kNone: break;
      case ValueFault::kLength: return fail(DecodeError::kAttributeLength);
      case ValueFault::kField: return fail(DecodeError::kAttributeValue);
    }
    if constexpr (std::is_same_v<T, AddressTuple>) {
      if (is_request_ && out.ip_version == kIpVersionAny) {
        return fail(DecodeError::kAttributeValue);
      }
    }
    next();
    return !failed_;
  }

  ByteReader in_;
  bool is_request_;
  DecodeError error_{};
  bool failed_ = false;
  bool present_ = false;
  std::uint16_t type_ = 0;
  std::uint16_t length_ = 0;
};

using Decoded = std::expected<Message, DecodeError>;

/// Rules that the attributes of the figures do not express.
template <class M>
std::optional<DecodeError> check_figure(const M&) {
  return std::nullopt;
}
std::optional<DecodeError> check_figure(const SaReply& reply) {
  // 5.2.3: both attributes are optional, but not both absent.
  if (!reply.challenge && !reply.token) return DecodeError::kMissingAttribute;
  return std::nullopt;
}

template <class M>
Decoded decode_as(const Header& header, std::span<const std::byte> payload) {
  Decoded result(std::in_place, Message{header.tid, M{}});
  M& message = *std::get_if<M>(&result->body);
  AttributeReader in(payload, M::kType.basic == static_cast<std::uint8_t>(BasicType::kRequest));
  std::apply([&](auto... member) { static_cast<void>((in.read(message.*member) && ...)); },
             M::kAttributes);
  if (!in.finish()) return std::unexpected(in.error());
  if (const auto error = check_figure(message)) return std::unexpected(*error);
  return result;
}

Decoded decode_negative_reply(const Header& header, std::span<const std::byte> payload) {
  const auto code = negative_reply_code(header.type.sub);
  if (!code) return std::unexpected(DecodeError::kUndefinedSubType);
  NegativeReply reply{*code, std::nullopt};
  AttributeReader in(payload, false);
  if (*code == NegativeReplyCode::kVersionMismatch) in.read(reply.version.emplace());
  if (!in.finish()) return std::unexpected(in.error());
  return Message{header.tid, reply};
}

/// A kind of message, except negative replies, whose sub-type is their code.
struct Kind {
  MessageType type;
  const char* name;
  Decoded (*decode)(const Header& header, std::span<const std::byte> payload);
};
template <class M>
constexpr Kind kind(const char* name) {
  return {M::kType, name, decode_as<M>};
}

/// Those that middleboxes and agents decode most come first.
constexpr std::array kKinds = {
    kind<PerRequest>("PER request"),
    kind<PerReply>("PER reply"),
    kind<SeRequest>("SE request"),
    kind<SaRequest>("SA request"),
    kind<StRequest>("ST request"),
    kind<PrrRequest>("PRR request"),
    kind<PeaRequest>("PEA request"),
    kind<PdrRequest>("PDR request"),
    kind<PlcRequest>("PLC request"),
    kind<PrsRequest>("PRS request"),
    kind<PrlRequest>("PRL request"),
    kind<SeReply>("SE reply"),
    kind<SaReply>("SA reply"),
    kind<StReply>("ST reply"),
    kind<PrrReply>("PRR reply"),
    kind<PlcReply>("PLC reply"),
    kind<PrdReply>("PRD reply"),
    kind<PrsReply>("PRS reply"),
    kind<PesReply>("PES reply"),
    kind<PdsReply>("PDS reply"),
    kind<PrlReply>("PRL reply"),
    kind<PdrReply>("PDR reply"),
    kind<BfmNotification>("BFM notification"),
    kind<AstNotification>("AST notification"),
    kind<AreNotification>("ARE notification"),
};

const Kind* find_kind(MessageType type) {
  const auto found = std::ranges::find(kKinds, type, &Kind::type);
  return found == kKinds.end() ? nullptr : found;
}

template <class T>
std::size_t attribute_size(const T& value) {
  return kAttributeHeaderSize + AttributeCodec<T>::length(value);
}
template <class T>
std::size_t attribute_size(const std::optional<T>& value) {
  return value ? attribute_size(*value) : 0;
}
template <class T>
std::size_t attribute_size(const std::vector<T>& values) {
  return values.size() * (kAttributeHeaderSize + AttributeCodec<T>::kLengthMax);
}

template <class T>
void write_attribute(ByteWriter& out, const T& value) {
  out.fields(AttributeCodec<T>::kType,
             static_cast<std::uint16_t>(AttributeCodec<T>::length(value)));
  AttributeCodec<T>::write(out, value);
}
template <class T>
void write_attribute(ByteWriter& out, const std::optional<T>& value) {
  if (value) write_attribute(out, *value);
}
template <class T>
void write_attribute(ByteWriter& out, const std::vector<T>& values) {
  for (const T& value : values) write_attribute(out, value);
}

template <class M>
std::size_t payload_size(const M& message) {
  return std::apply(
      [&](auto... member) { return (std::size_t{0} + ... + attribute_size(message.*member)); },
      M::kAttributes);
}
std::size_t payload_size(const NegativeReply& reply) { return attribute_size(reply.version); }

template <class M>
void write_payload(ByteWriter& out, const M& message) {
  std::apply([&](auto... member) { (write_attribute(out, message.*member), ...); }, M::kAttributes);
}
void write_payload(ByteWriter& out, const NegativeReply& reply) {
  SIMCO_ASSERT(reply.version.has_value() == (reply.code == NegativeReplyCode::kVersionMismatch));
  write_attribute(out, reply.version);
}

template <class M>
MessageType type_of_message(const M&) {
  return M::kType;
}
MessageType type_of_message(const NegativeReply& reply) {
  return {static_cast<std::uint8_t>(BasicType::kNegativeReply),
          static_cast<std::uint8_t>(reply.code)};
}

}  // namespace

Body::Body() = default;
Body::Body(const Body&) = default;
Body::Body(Body&&) noexcept = default;
Body& Body::operator=(const Body&) = default;
Body& Body::operator=(Body&&) noexcept = default;
Body::~Body() = default;

bool operator==(const Body& left, const Body& right) {
  return static_cast<const AnyBody&>(left) == static_cast<const AnyBody&>(right);
}

MessageType type_of(const Body& body) {
  return std::visit([](const auto& message) { return type_of_message(message); }, body);
}

const char* name_of(MessageType type) {
  if (const auto* kind = find_kind(type)) return kind->name;
  const bool negative = type.basic == static_cast<std::uint8_t>(BasicType::kNegativeReply);
  return negative && negative_reply_code(type.sub) ? "negative reply" : "undefined";
}

const char* to_string(DecodeError error) {
  switch (error) {
    case DecodeError::kTruncated: return "message is shorter than its header says";
    case DecodeError::kImpossibleLength: return "message length is impossible";
    case DecodeError::kLengthMismatch: return "data does not end with the message";
    case DecodeError::kUndefinedBasicType: return "undefined basic message type";
    case DecodeError::kUndefinedSubType: return "undefined message sub-type";
    case DecodeError::kMissingAttribute: return "required attribute is missing";
    case DecodeError::kUnexpectedAttribute: return "unexpected attribute";
    case DecodeError::kAttributeLength: return "attribute has the wrong length";
    case DecodeError::kAttributeValue: return "attribute has an undefined value";
    case DecodeError::kTrailingOctets: return "trailing data after the last attribute";
  }
  return "undefined";
}

int section6_step(DecodeError error) {
  switch (error) {
    case DecodeError::kImpossibleLength:
    case DecodeError::kLengthMismatch: return 1;
    case DecodeError::kTruncated: return 2;
    case DecodeError::kUndefinedBasicType: return 3;
    case DecodeError::kUndefinedSubType: return 4;
    case DecodeError::kMissingAttribute:
    case DecodeError::kUnexpectedAttribute:
    case DecodeError::kAttributeLength:
    case DecodeError::kAttributeValue:
    case DecodeError::kTrailingOctets: return 5;
  }
  return 1;
}

Header read_header(std::span<const std::byte, kHeaderSize> octets) {
  ByteReader in(octets);
  Header header;
  in.fields(header.type.basic, header.type.sub, header.length, header.tid.value);
  return header;
}

std::optional<DecodeError> check_header(const Header& header) {
  const bool no_attribute_fits = header.length > 0 && header.length < kAttributeHeaderSize;
  const bool message_too_long = header.length > kPayloadSizeMax;
  if (no_attribute_fits || message_too_long) return DecodeError::kImpossibleLength;
  return std::nullopt;
}

Decoded decode(std::span<const std::byte> octets) {
  if (octets.size() < kHeaderSize) return std::unexpected(DecodeError::kTruncated);
  const Header header = read_header(octets.first<kHeaderSize>());
  if (const auto error = check_header(header)) return std::unexpected(*error);
  const auto payload = octets.subspan(kHeaderSize);
  if (payload.size() < header.length) return std::unexpected(DecodeError::kTruncated);
  if (payload.size() > header.length) return std::unexpected(DecodeError::kLengthMismatch);
  return decode_payload(header, payload);
}

Decoded decode_payload(const Header& header, std::span<const std::byte> payload) {
  if (const auto* kind = find_kind(header.type)) return kind->decode(header, payload);
  if (header.type.basic == static_cast<std::uint8_t>(BasicType::kNegativeReply)) {
    return decode_negative_reply(header, payload);
  }
  const bool basic_defined =
      header.type.basic >= static_cast<std::uint8_t>(BasicType::kRequest) &&
      header.type.basic <= static_cast<std::uint8_t>(BasicType::kNotification);
  return std::unexpected(basic_defined ? DecodeError::kUndefinedSubType
                                       : DecodeError::kUndefinedBasicType);
}

std::size_t encoded_size(const Body& body) {
  return kHeaderSize + std::visit([](const auto& message) { return payload_size(message); }, body);
}

bool encode(TransactionId tid, const Body& body, ByteWriter& out) {
  return std::visit(
      [&](const auto& message) {
        const std::size_t length = payload_size(message);
        SIMCO_ASSERT(length <= kPayloadSizeMax);
        if (out.remaining() < kHeaderSize + length) return false;
        const MessageType type = type_of_message(message);
        // A writer of our own: the compiler keeps it in registers, and it ends where the message
        // does.
        ByteWriter writer(out.take(kHeaderSize + length));
        writer.fields(type.basic, type.sub, static_cast<std::uint16_t>(length), tid.value);
        write_payload(writer, message);
        return true;
      },
      body);
}

// --- Values --------------------------------------------------------------------------------------

namespace {

template <class T>
std::optional<T> read_value(std::span<const std::byte> octets) {
  using Codec = AttributeCodec<T>;
  if (octets.size() < Codec::kLengthMin || octets.size() > Codec::kLengthMax) return std::nullopt;
  T value;
  ByteReader in(octets);
  if (Codec::read(in, value) != ValueFault::kNone) return std::nullopt;
  return value;
}

}  // namespace

static_assert(kTupleSizeMax == AttributeCodec<AddressTuple>::kLengthMax &&
              kPerParametersSize == AttributeCodec<PerParameterSet>::kLengthMax);

std::size_t value_size(const AddressTuple& tuple) {
  return AttributeCodec<AddressTuple>::length(tuple);
}
void write_value(ByteWriter& out, const AddressTuple& tuple) {
  AttributeCodec<AddressTuple>::write(out, tuple);
}
void write_value(ByteWriter& out, const PerParameterSet& parameters) {
  AttributeCodec<PerParameterSet>::write(out, parameters);
}
std::optional<AddressTuple> read_tuple(std::span<const std::byte> octets) {
  return read_value<AddressTuple>(octets);
}
std::optional<PerParameterSet> read_per_parameters(std::span<const std::byte> octets) {
  return read_value<PerParameterSet>(octets);
}

}  // namespace simco
