// The datagrams of the ng protocol: a cookie, a space, and a dictionary in bencode or JSON. Both
// forms become a nlohmann::json, whose strings hold any octets.
#pragma once

#include <cstdint>
#include <expected>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace simco::ng {

/// Form of a dictionary. A reply has the form of its request.
enum class Form : std::uint8_t { kBencode, kJson };

/// A datagram, taken apart. `cookie` borrows from the octets.
struct Datagram {
  std::string_view cookie;
  Form form = Form::kBencode;
  /// The request, or an error message if it is not a dictionary.
  std::expected<nlohmann::json, std::string> dictionary;
};

/// Returns nullopt if there is no cookie to reply with.
std::optional<Datagram> read_datagram(std::string_view octets);

/// Returns a datagram. `dictionary` has no floating-point numbers.
std::string write_datagram(std::string_view cookie, Form form, const nlohmann::json& dictionary);

/// Decodes one value in bencode; keys may be in any order. Returns an error message if `text` is
/// anything else, or lists are nested more than kDepthMax deep.
std::expected<nlohmann::json, std::string> decode_bencode(std::string_view text);

/// Encodes a value, keys in ascending order. true and false become 1 and 0, null an empty string.
std::string encode_bencode(const nlohmann::json& value);

/// Decodes a JSON text, nested at most kDepthMax deep.
std::expected<nlohmann::json, std::string> decode_json(std::string_view text);

}  // namespace simco::ng
