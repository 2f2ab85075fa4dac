// The free ports of an address, for a transport protocol.
//
// A bit per port, and above the bits a tree whose nodes know the free runs of their range: the
// length of the run at either end, and of the longest runs that begin at an even and at an odd
// port. So a run of consecutive ports of a given parity is found, or found missing, in logarithmic
// time, however full the map is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace simco::policy {

/// Required parity of the first port of a range.
enum class Parity : std::uint8_t { kEven = 0, kOdd = 1, kAny = 2 };

constexpr Parity parity_of(std::uint16_t port) {
  return port % 2 == 0 ? Parity::kEven : Parity::kOdd;
}

/// The ports of an address. Not thread-safe.
class PortMap {
 public:
  /// Creates a map in which the ports from `first` (at least 1) to `last` are free.
  PortMap(std::uint16_t first, std::uint16_t last);

  /// Returns the length of the longest free run that begins with `parity`.
  std::uint16_t longest(Parity parity) const;

  /// Allocates `count` consecutive ports, the first of which has `parity`, and returns the first.
  /// Ports are allocated in turn, so that a released port rests as long as possible.
  std::optional<std::uint16_t> take(std::uint16_t count, Parity parity);
  /// Allocates `count` ports from `first` on. Returns false if not all of them are free.
  bool take_at(std::uint16_t first, std::uint16_t count);
  /// Releases ports, which must be in use.
  void give_back(std::uint16_t first, std::uint16_t count);

 private:
  static constexpr unsigned kWordBits = 64;
  static constexpr unsigned kWords = 65536 / kWordBits;

  /// Free runs of a range. A port is never 0, so no run is longer than 65535.
  struct Runs {
    std::uint16_t at_begin = 0;
    std::uint16_t at_end = 0;
    std::array<std::uint16_t, 2> longest{};  ///< by the parity of the run's first port
  };
  static Runs runs_in(std::uint64_t free);
  static Runs join(const Runs& left, const Runs& right, unsigned half);
  static bool fits(const Runs& runs, unsigned count, Parity parity);

  bool is_free(unsigned first, unsigned count) const;
  void set(unsigned first, unsigned count, bool free);
  /// Returns the first fitting port at `from` or later within the range of `node`, or 0.
  unsigned find(unsigned node, unsigned begin, unsigned size, unsigned from, unsigned count,
                Parity parity) const;
  unsigned find_in_word(unsigned word, unsigned from, unsigned count, Parity parity) const;

  std::array<std::uint64_t, kWords> free_{};
  std::array<Runs, 2 * kWords> tree_{};  ///< root at 1, children of i at 2i and 2i + 1
  unsigned next_ = 0;                    ///< where the next search begins
};

}  // namespace simco::policy
