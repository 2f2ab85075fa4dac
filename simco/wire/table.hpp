// Tables of things that are chosen by name, such as transports.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <ranges>
#include <string_view>

namespace simco {

/// Returns the position of the row whose `name` is `name`, or nothing.
template <std::ranges::random_access_range Table>
std::optional<std::size_t> position_of(const Table& table, std::string_view name) {
  const auto row =
      std::ranges::find(table, name, [](const auto& one) { return std::string_view(one.name); });
  if (row == std::ranges::end(table)) return std::nullopt;
  return static_cast<std::size_t>(row - std::ranges::begin(table));
}

}  // namespace simco
