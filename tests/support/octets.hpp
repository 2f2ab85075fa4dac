// Octets as tests like to write and read them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simco/wire/codec.hpp"

namespace simco::test {

using Octets = std::vector<std::byte>;

/// "0112 0034" -> octets; anything but hexadecimal digits is skipped.
inline Octets from_hex(std::string_view text) {
  Octets result;
  int high = -1;
  for (const char c : text) {
    int digit = -1;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
    if (digit < 0) continue;
    if (high < 0) {
      high = digit;
    } else {
      result.push_back(static_cast<std::byte>(high * 16 + digit));
      high = -1;
    }
  }
  return result;
}

inline std::string to_hex(std::span<const std::byte> octets) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const std::byte b : octets) {
    result += digits[std::to_integer<std::size_t>(b >> 4)];
    result += digits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return result;
}

inline Octets encoded(const Message& message) {
  Octets result(encoded_size(message.body));
  ByteWriter out(result);
  SIMCO_ASSERT(encode(message, out));
  return result;
}

inline Octets concat(std::initializer_list<Octets> parts) {
  Octets result;
  for (const auto& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}

}  // namespace simco::test
