// A single pass over the lines of the header. Each line is a field or continues the previous; only
// fields that the workload needs are taken apart further.
#include "loadgen/sip/message.hpp"

#include <algorithm>
#include <utility>

#include "loadgen/sip/text.hpp"

namespace simco::loadgen::sip {
namespace {

constexpr std::string_view kVersion = "SIP/2.0";

struct FieldWord {
  std::string_view word;
  FieldName name;
};

/// With the compact forms (7.3.3).
constexpr FieldWord kFieldWords[] = {
    {"Via", FieldName::kVia},
    {"v", FieldName::kVia},
    {"From", FieldName::kFrom},
    {"f", FieldName::kFrom},
    {"To", FieldName::kTo},
    {"t", FieldName::kTo},
    {"Call-ID", FieldName::kCallId},
    {"i", FieldName::kCallId},
    {"CSeq", FieldName::kCSeq},
    {"Contact", FieldName::kContact},
    {"m", FieldName::kContact},
    {"Record-Route", FieldName::kRecordRoute},
    {"Content-Length", FieldName::kContentLength},
    {"l", FieldName::kContentLength},
};

FieldName field_name(std::string_view word) {
  const auto* const found =
      std::ranges::find_if(kFieldWords, [&](const auto& row) { return same_word(row.word, word); });
  return found == std::end(kFieldWords) ? FieldName::kOther : found->name;
}

/// Takes the next line with its continuation lines; without its line end. `text` ends with a line
/// end.
std::string_view take_line(std::string_view& text) {
  std::size_t end = text.find(kLineEnd);
  while (end != std::string_view::npos && end + 2 < text.size() &&
         (text[end + 2] == ' ' || text[end + 2] == '\t')) {
    end = text.find(kLineEnd, end + 2);
  }
  if (end == std::string_view::npos) return std::exchange(text, {});
  const auto line = text.substr(0, end);
  text.remove_prefix(end + kLineEnd.size());
  return line;
}

/// True if every line end in `line` folds it: others would break the fields that we repeat.
bool folds_well(std::string_view line) {
  for (auto at = line.find_first_of(kLineEnd); at != std::string_view::npos;
       at = line.find_first_of(kLineEnd, at + kLineEnd.size())) {
    const auto fold = line.substr(at);
    if (!fold.starts_with(kLineEnd) || fold.size() == kLineEnd.size()) return false;
    if (fold[kLineEnd.size()] != ' ' && fold[kLineEnd.size()] != '\t') return false;
  }
  return true;
}

/// Reads a header line; nothing if it is none.
std::optional<Field> read_field(std::string_view line) {
  if (!folds_well(line)) return std::nullopt;
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto word = line.substr(0, colon);
  while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.remove_suffix(1);
  if (word.empty() || std::ranges::any_of(word, is_space)) return std::nullopt;
  return Field{field_name(word), trimmed(line.substr(colon + 1))};
}

/// Takes the text up to the next white space, and that.
std::string_view take_word(std::string_view& text) {
  const auto end = static_cast<std::size_t>(std::ranges::find_if(text, is_space) - text.begin());
  const auto word = text.substr(0, end);
  text.remove_prefix(end);
  text = trimmed(text);
  return word;
}

}  // namespace

const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::kNoStartLine: return "no SIP message";
    case Fault::kNoHeaderEnd: return "the header has no end";
    case Fault::kTooManyFields: return "too many header fields";
    case Fault::kBadField: return "a header field cannot be read";
    case Fault::kMissingField: return "a mandatory header field is missing";
    case Fault::kBadLength: return "Content-Length is impossible";
    case Fault::kShortBody: return "the body is shorter than Content-Length";
  }
  return "malformed message";
}

std::string_view take_element(std::string_view& list, char separator) {
  bool quoted = false;
  bool bracketed = false;
  std::size_t at = 0;
  for (; at < list.size(); ++at) {
    const char c = list[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '<' || c == '>') {
      bracketed = c == '<';
    } else if (c == separator && !bracketed) {
      break;
    }
  }
  at = std::min(at, list.size());
  const auto element = trimmed(list.substr(0, at));
  list.remove_prefix(std::min(at + 1, list.size()));
  return element;
}

std::optional<std::string_view> parameter(std::string_view text, std::string_view name) {
  take_element(text, ';');
  while (!text.empty()) {
    auto rest = take_element(text, ';');
    const auto equals = rest.find('=');
    if (!same_word(trimmed(rest.substr(0, equals)), name)) continue;
    if (equals == std::string_view::npos) return rest.substr(rest.size());
    return trimmed(rest.substr(equals + 1));
  }
  return std::nullopt;
}

std::optional<std::size_t> header_size(std::string_view text) {
  const auto end = text.substr(0, kHeaderMax).find(kHeaderEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kHeaderEnd.size();
}

std::expected<std::optional<std::size_t>, Fault> content_length(std::string_view header) {
  std::optional<std::size_t> result;
  take_line(header);
  while (!header.empty()) {
    const auto line = take_line(header);
    const char first = line.empty() ? '\0' : static_cast<char>(line.front() | 0x20);
    if (first != 'c' && first != 'l') continue;  // neither "Content-Length" nor "l"
    const auto field = read_field(line);
    if (!field || field->name != FieldName::kContentLength) continue;
    const auto value = read_decimal(field->value, kMessageMax);
    if (!value || (result && *result != *value)) return std::unexpected(Fault::kBadLength);
    result = *value;
  }
  return result;
}

std::optional<Via> read_via(std::string_view value) {
  Via via;
  via.text = take_element(value, ',');
  auto rest = via.text;
  auto head = take_element(rest, ';');
  // "SIP / 2.0 / UDP host:port", with white space wherever it likes.
  for (int slashes = 0; slashes < 2; ++slashes) {
    const auto slash = head.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    head.remove_prefix(slash + 1);
  }
  head = trimmed(head);
  take_word(head);
  via.sent_by = head;
  if (via.sent_by.empty()) return std::nullopt;
  via.branch = parameter(via.text, "branch").value_or("");
  return via;
}

/// Fills a Message; each step returns a complaint, or nothing.
class MessageParser {
 public:
  std::expected<Message, Fault> parse(std::string_view text) {
    while (text.starts_with(kLineEnd)) text.remove_prefix(kLineEnd.size());
    const auto size = header_size(text);
    if (!size) return std::unexpected(Fault::kNoHeaderEnd);
    auto header = text.substr(0, *size - kLineEnd.size());
    if (!read_start(take_line(header))) return std::unexpected(Fault::kNoStartLine);
    while (!header.empty()) {
      if (const auto fault = read_line(take_line(header))) return std::unexpected(*fault);
    }
    if (const auto fault = check_mandatory()) return std::unexpected(*fault);
    const auto length = content_length(text.substr(0, *size));
    if (!length) return std::unexpected(length.error());
    message_.body = text.substr(*size);
    if (*length) {
      if (**length > message_.body.size()) return std::unexpected(Fault::kShortBody);
      message_.body = message_.body.substr(0, **length);
    }
    return message_;
  }

 private:
  bool read_start(std::string_view line) {
    if (line.find_first_of(kLineEnd) != std::string_view::npos) return false;
    auto rest = line;
    const auto first = take_word(rest);
    if (same_word(first, kVersion)) {
      const auto status = read_decimal(take_word(rest), 699);
      if (!status || *status < 100) return false;
      message_.status = static_cast<std::uint16_t>(*status);
      return true;
    }
    message_.method = first;
    message_.uri = take_word(rest);
    return !first.empty() && !message_.uri.empty() && same_word(rest, kVersion);
  }

  std::optional<Fault> read_line(std::string_view line) {
    const auto field = read_field(line);
    if (!field) return Fault::kBadField;
    if (message_.field_count_ == kFieldsMax) return Fault::kTooManyFields;
    message_.all_fields_[message_.field_count_++] = *field;
    return use(*field);
  }

  std::optional<Fault> use(const Field& field) {
    const auto take_first = [&](std::string_view& member) {
      if (member.empty()) member = field.value;
    };
    switch (field.name) {
      case FieldName::kVia: return use_via(field.value);
      case FieldName::kFrom: take_first(message_.from); break;
      case FieldName::kTo: take_first(message_.to); break;
      case FieldName::kCallId: take_first(message_.call_id); break;
      case FieldName::kContact: take_first(message_.contact); break;
      case FieldName::kCSeq: return use_cseq(field.value);
      case FieldName::kRecordRoute:
      case FieldName::kContentLength:
      case FieldName::kOther: break;
    }
    return std::nullopt;
  }

  std::optional<Fault> use_via(std::string_view value) {
    if (!message_.via.text.empty()) return std::nullopt;  // not the topmost
    const auto via = read_via(value);
    if (!via) return Fault::kBadField;
    message_.via = *via;
    return std::nullopt;
  }

  std::optional<Fault> use_cseq(std::string_view value) {
    auto rest = value;
    const auto number = read_decimal(take_word(rest), 0x7FFFFFFF);  // 8.1.1.5
    if (!number || rest.empty()) return Fault::kBadField;
    message_.cseq = static_cast<std::uint32_t>(*number);
    message_.cseq_method = rest;
    return std::nullopt;
  }

  std::optional<Fault> check_mandatory() const {
    const Message& m = message_;
    if (m.via.text.empty() || m.from.empty() || m.to.empty() || m.call_id.empty() ||
        m.cseq_method.empty()) {
      return Fault::kMissingField;
    }
    if (m.is_request() && m.method != m.cseq_method) return Fault::kBadField;
    return std::nullopt;
  }

  Message message_;
};

std::expected<Message, Fault> parse_message(std::string_view text) {
  return MessageParser().parse(text);
}

std::expected<std::size_t, net::FramingError> SipFramer::size_of(
    std::span<const std::byte> octets) const {
  const auto text = text_of(octets);
  if (text.starts_with('\r')) {
    if (text.size() >= 2 && text[1] != '\n') {
      return std::unexpected(net::FramingError::kUnknownLength);
    }
    return kLineEnd.size();
  }
  const auto header = header_size(text);
  if (!header) {
    if (text.size() >= kHeaderMax) return std::unexpected(net::FramingError::kUnknownLength);
    return text.size() + 1;
  }
  const auto body = content_length(text.substr(0, *header));
  if (!body) return std::unexpected(net::FramingError::kImpossibleLength);
  if (!*body) return std::unexpected(net::FramingError::kUnknownLength);
  if (*header + **body > kMessageMax) {
    return std::unexpected(net::FramingError::kImpossibleLength);
  }
  return *header + **body;
}

std::optional<net::FramingError> SipFramer::fault_in(std::span<const std::byte>,
                                                     std::size_t) const {
  return std::nullopt;
}

}  // namespace simco::loadgen::sip
