// The XDP program in the kernel: its maps, which are memory of this process as well, and its links
// to the two interfaces, which go with this process, however it ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "middlebox/backend/fastpath/slot.h"

namespace simco::backend::fastpath {

/// As the program numbers them.
enum class Side : std::uint8_t { kInternal, kExternal };
inline constexpr std::array kSides = {Side::kInternal, Side::kExternal};

/// For one thread.
class Program {
 public:
  /// Loads the program, with room for `entries` entries of each IP version; links nothing.
  /// `counting`: it counts by rule. Needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, of which link()
  /// needs only the last. Throws std::runtime_error with a sentence that names the missing
  /// condition.
  Program(std::uint32_t entries, bool counting);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::span<fp_slot4> slots4();
  std::span<fp_slot6> slots6();
  /// The counts of slots; empty if the program does not count by rule.
  std::span<fp_tally> tallies4();
  std::span<fp_tally> tallies6();
  /// The secret that places slots.
  std::uint64_t seed() const { return seed_; }

  /// Sets the hardware address of that side's interface; packets that arrive for another address go
  /// to the stack.
  void set_address(Side side, const std::array<std::uint8_t, 6>& address);
  /// Runs the program for all packets that arrive on the interface, in its driver; they go to the
  /// stack before open(). Returns the obstacle, if any, as the end of a sentence.
  std::optional<std::string> link(Side side, unsigned index);
  /// Forwards packets from now on between the two interfaces that are linked.
  void open();
  /// Forwards nothing any longer, then ends both links.
  void unlink();
  /// Returns the index of the interface that the link of that side is on; 0: none, or none any
  /// more.
  unsigned linked(Side side) const;

  /// Sums over all processors since the start; zeroes if the kernel cannot be asked.
  fp_counts counts() const;

 private:
  struct Kernel;
  std::unique_ptr<Kernel> kernel_;
  std::uint64_t seed_ = 0;
};

}  // namespace simco::backend::fastpath
