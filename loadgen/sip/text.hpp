// The lexical rules of SIP that all of its parts need (RFC 3261 25.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace simco::loadgen::sip {

inline constexpr std::string_view kLineEnd = "\r\n";
/// Ends a header: the end of the last line, and an empty line.
inline constexpr std::string_view kHeaderEnd = "\r\n\r\n";

/// True for linear white space; in a folded value the line end belongs to it (7.3.1).
constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// Returns `text` without white space around it.
constexpr std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Compares without regard to case, of ASCII letters (7.3.1).
constexpr bool same_word(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

/// Reads a decimal number, all of `text`; nothing if it is none, or above `most`.
constexpr std::optional<std::uint64_t> read_decimal(std::string_view text, std::uint64_t most) {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    if (value > most) return std::nullopt;
  }
  return value;
}

/// Takes the first element from a list whose elements are separated by `separator` outside of
/// quoted strings and angle brackets; returns it without white space around it.
std::string_view take_element(std::string_view& list, char separator);

/// Returns the value of the parameter called `name` behind the first ';' of `text`; empty, and
/// behind the name, if it has no value; nothing if it is not there.
std::optional<std::string_view> parameter(std::string_view text, std::string_view name);

}  // namespace simco::loadgen::sip
