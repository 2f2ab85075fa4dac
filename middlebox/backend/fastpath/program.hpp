// The XDP program in the kernel: its maps, which are memory of this process as well, and its links
// to the two interfaces, which go with this process, however it ends; and its counts as metrics.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "middlebox/backend/backend.hpp"
#include "middlebox/backend/fastpath/slot.h"
#include "simco/wire/instant.hpp"

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
  /// Packets go to the stack from `end` on (CLOCK_MONOTONIC); Instant::max() until told otherwise.
  void set_lease(Instant end);
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

/// Adds to `figures` the packets of known rules, by outcome, and the octets forwarded.
inline void add_figures(const fp_counts& counts, Figures& figures) {
  const auto packets = [&](const char* way, std::uint64_t count) {
    figures.push_back({"simco_fast_path_packets_total",
                       {{"way", way}},
                       count,
                       "Packets of rules that the fast path knows, by outcome."});
  };
  packets("forwarded", counts.packets);
  packets("shown", counts.shown);  // to the stack once in a while, so that it knows the flow
  packets("unfinished", counts.unfinished);  // a sender on this host has left the checksum open
  packets("no-way", counts.elsewhere);       // no neighbour is known on the other interface
  figures.push_back({"simco_fast_path_octets_total",
                     {},
                     counts.octets,
                     "Octets that the fast path has forwarded, from the IP header on."});
}

}  // namespace simco::backend::fastpath
