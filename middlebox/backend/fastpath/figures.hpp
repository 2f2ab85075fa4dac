// The program's counts as metrics.
#pragma once

#include "middlebox/backend/fastpath/slot.h"
#include "middlebox/backend/figure.hpp"

namespace simco::backend::fastpath {

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
