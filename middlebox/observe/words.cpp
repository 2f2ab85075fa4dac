#include "middlebox/observe/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace simco::middlebox::words {
namespace {

bool is_plain(unsigned char c) { return c > ' ' && c < 0x7F && c != '"' && c != '\\'; }

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == ' ' || is_plain(static_cast<unsigned char>(c))) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + '"';
}

std::string word(std::string_view text) {
  const auto plain = [](char c) { return is_plain(static_cast<unsigned char>(c)); };
  return !text.empty() && std::ranges::all_of(text, plain) ? std::string(text) : quoted(text);
}

}  // namespace simco::middlebox::words
