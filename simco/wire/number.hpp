// Numbers in text.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>

namespace simco {

/// Returns the number that all of `text` is, in decimal and without spaces, if it is from `least`
/// to `most`; otherwise nullopt. Not a number (NaN) is in no range.
template <class Number>
std::optional<Number> parse_number(std::string_view text,
                                   Number least = std::numeric_limits<Number>::lowest(),
                                   Number most = std::numeric_limits<Number>::max()) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && number >= least && number <= most) return number;
  return std::nullopt;
}

}  // namespace simco
