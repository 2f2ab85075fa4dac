// Where everything that happens by chance comes from: one seed, one run.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace simco::simulator {

/// Gives the same numbers on every machine, unlike the distributions of the standard library.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine(seed) {}

  /// From 0 to n - 1.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine() % n); }
  /// True one time in n.
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  /// From 0 to `max` milliseconds.
  std::chrono::milliseconds up_to_ms(std::uint32_t max) {
    return std::chrono::milliseconds(below(max + 1));
  }

  std::mt19937 engine;
};

}  // namespace simco::simulator
