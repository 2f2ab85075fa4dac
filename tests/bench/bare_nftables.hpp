// Adding elements to a set with as little around it as can be: what bench-nftables compares with.
#pragma once

#include <cstdint>
#include <ctime>

namespace simco::bench {

/// What a run got done, and what it took.
struct Speed {
  double per_second = 0;
  double cpu_us = 0;  ///< processor time for each, of the process that did it
};

/// The processor time that `clock` counts.
double seconds_of(clockid_t clock);

/// Adds `count` elements like ours, `batch` to a commit, made with libnftnl's objects.
Speed add_bare_elements(std::uint32_t count, std::uint32_t batch);

}  // namespace simco::bench
