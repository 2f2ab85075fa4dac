// bencode has integers, strings, lists and dictionaries:
//
//   i-7e     5:hello     li1ei2ee     d6:result2:oke
#include "agent/ng/protocol/codec.hpp"

#include <charconv>

#include "agent/ng/protocol/limits.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;

/// Reads values from the front of a text. Each function returns false on a mistake.
class BencodeReader {
 public:
  explicit BencodeReader(std::string_view text) : rest_(text) {}

  bool read(json& value, std::size_t depth) {
    if (rest_.empty()) return false;
    if (rest_.front() == 'i') {
      std::int64_t number = 0;
      if (!skip('i') || !read_number(number) || !skip('e')) return false;
      value = number;
      return true;
    }
    if (rest_.front() == 'l') return read_list(value, depth);
    if (rest_.front() == 'd') return read_dictionary(value, depth);
    std::string text;
    if (!read_string(text)) return false;
    value = std::move(text);
    return true;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  bool skip(char expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  template <class Number>
  bool read_number(Number& number) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool read_string(std::string& text) {
    std::size_t size = 0;
    if (!read_number(size) || !skip(':') || size > rest_.size()) return false;
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool read_list(json& value, std::size_t depth) {
    if (depth == kDepthMax || !skip('l')) return false;
    value = json::array();
    while (!skip('e')) {
      if (!read(value.emplace_back(), depth + 1)) return false;
    }
    return true;
  }
  bool read_dictionary(json& value, std::size_t depth) {
    if (depth == kDepthMax || !skip('d')) return false;
    value = json::object();
    while (!skip('e')) {
      std::string key;
      if (!read_string(key) || !read(value[key], depth + 1)) return false;
    }
    return true;
  }

  std::string_view rest_;
};

void append_string(const std::string& text, std::string& to) {
  to += std::to_string(text.size()) + ":" + text;
}

void append(const json& value, std::string& to) {
  if (value.is_object()) {
    to += 'd';
    for (const auto& [key, item] : value.items()) {
      append_string(key, to);
      append(item, to);
    }
    to += 'e';
  } else if (value.is_array()) {
    to += 'l';
    for (const auto& item : value) append(item, to);
    to += 'e';
  } else if (value.is_string()) {
    append_string(value.get_ref<const std::string&>(), to);
  } else if (value.is_null()) {
    append_string({}, to);
  } else if (value.is_boolean()) {
    to += value.get<bool>() ? "i1e" : "i0e";
  } else {
    to += "i" + std::to_string(value.get<std::int64_t>()) + "e";
  }
}

}  // namespace

std::expected<json, std::string> decode_bencode(std::string_view text) {
  json value;
  BencodeReader reader(text);
  if (!reader.read(value, 0) || !reader.at_end()) {
    return std::unexpected("Could not decode bencode dictionary");
  }
  return value;
}

std::string encode_bencode(const json& value) {
  std::string text;
  append(value, text);
  return text;
}

std::expected<json, std::string> decode_json(std::string_view text) {
  // The parser keeps its own stack, but its result is copied and written recursively.
  bool deep = false;
  auto value = json::parse(
      text,
      [&](int depth, json::parse_event_t event, json&) {
        const bool begins =
            event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
        deep |= begins && static_cast<std::size_t>(depth) >= kDepthMax;
        return !deep;
      },
      false);
  if (!deep && !value.is_discarded()) return value;
  return std::unexpected("Could not decode JSON dictionary");
}

std::optional<Datagram> read_datagram(std::string_view octets) {
  const auto space = octets.find(' ');
  if (space == std::string_view::npos || space == 0 || space > kCookieMax) return std::nullopt;
  const auto text = octets.substr(space + 1);
  Datagram result{
      octets.substr(0, space), text.starts_with('{') ? Form::kJson : Form::kBencode, {}};
  result.dictionary = result.form == Form::kJson ? decode_json(text) : decode_bencode(text);
  if (result.dictionary && !result.dictionary->is_object()) {
    result.dictionary = std::unexpected("Could not decode bencode dictionary");
  }
  return result;
}

std::string write_datagram(std::string_view cookie, Form form, const json& dictionary) {
  std::string result(cookie);
  result += ' ';
  // Text that is not UTF-8 can only come from a request in bencode.
  result += form == Form::kJson ? dictionary.dump(-1, ' ', false, json::error_handler_t::replace)
                                : encode_bencode(dictionary);
  return result;
}

}  // namespace simco::ng
