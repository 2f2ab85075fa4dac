// Adding elements to a set with as little around it as possible, for comparison in bench-nftables.
#pragma once

#include <libmnl/libmnl.h>

#include <cstdint>
#include <ctime>
#include <vector>

namespace simco::bench {

/// The work of a run, and its time.
struct Speed {
  double per_second = 0;
  double cpu_us = 0;  ///< processor time for each, of the process that did it
};

/// The processor time that `clock` counts.
double seconds_of(clockid_t clock);

/// A table with a set like ours, while it lives.
class BareTable {
 public:
  BareTable();
  BareTable(const BareTable&) = delete;
  BareTable& operator=(const BareTable&) = delete;
  ~BareTable();
};

/// Adds elements like ours to it, made with libnftnl's objects.
class BareElements {
 public:
  BareElements();
  BareElements(const BareElements&) = delete;
  BareElements& operator=(const BareElements&) = delete;
  ~BareElements();
  /// Adds as many in a commit, for which it waits.
  void add(std::uint32_t count);

 private:
  char* write(std::uint32_t count);

  mnl_socket* socket_;
  std::vector<char> buffer_;
  std::uint32_t done_ = 0;
};

/// Adds `count` elements, `batch` to a commit.
Speed add_bare_elements(std::uint32_t count, std::uint32_t batch);

}  // namespace simco::bench
