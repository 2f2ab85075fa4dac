// An array of numbers that finds a sufficiently large number in logarithmic time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace simco::policy {

/// The array, with a tree of maxima above it. Not thread-safe.
class MaxTree {
 public:
  /// `size` numbers, all `value`.
  MaxTree(std::uint32_t size, std::uint16_t value)
      : leaves_(std::bit_ceil(std::max(size, 1U))), nodes_(2 * std::size_t{leaves_}) {
    for (std::uint32_t i = 0; i < size; ++i) nodes_[leaves_ + i] = value;
    for (std::uint32_t node = leaves_ - 1; node >= 1; --node) refresh(node);
  }

  std::uint16_t operator[](std::uint32_t index) const { return nodes_[leaves_ + index]; }
  std::uint16_t largest() const { return nodes_[1]; }

  void set(std::uint32_t index, std::uint16_t value) {
    std::uint32_t node = leaves_ + index;
    nodes_[node] = value;
    while ((node /= 2) >= 1) refresh(node);
  }

  /// Returns the first index at `from` or later whose number is at least `value`, otherwise the
  /// first such index at all, or nullopt.
  std::optional<std::uint32_t> find(std::uint32_t from, std::uint16_t value) const {
    if (const auto found = find_in(1, 0, leaves_, from, value)) return found;
    return find_in(1, 0, leaves_, 0, value);
  }

 private:
  void refresh(std::uint32_t node) {
    nodes_[node] = std::max(nodes_[2 * std::size_t{node}], nodes_[2 * std::size_t{node} + 1]);
  }
  std::optional<std::uint32_t> find_in(std::uint32_t node, std::uint32_t begin, std::uint32_t size,
                                       std::uint32_t from, std::uint16_t value) const {
    if (begin + size <= from || nodes_[node] < value) return std::nullopt;
    if (size == 1) return begin;
    const std::uint32_t half = size / 2;
    if (const auto found = find_in(2 * node, begin, half, from, value)) return found;
    return find_in(2 * node + 1, begin + half, half, from, value);
  }

  std::uint32_t leaves_;
  std::vector<std::uint16_t> nodes_;  ///< root at 1, children of i at 2i and 2i + 1
};

}  // namespace simco::policy
