// The output of simco-cross: for each flow and second, the octets that passed, as lines of JSON.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <set>

namespace simco::cross {

class Journal;

/// A flow that is written about as long as it lives. Not thread-safe.
class Flow {
 public:
  /// `socket` is that of a TCP connection, whose TCP_INFO is written too, or -1.
  Flow(Journal& journal, int socket);
  ~Flow();
  Flow(const Flow&) = delete;
  Flow& operator=(const Flow&) = delete;

  /// Octets of the payload have been received, or handed to the kernel.
  void count(std::uint64_t octets) { octets_ += octets; }

 private:
  friend class Journal;
  /// Writes a line if octets have passed since the last line.
  void write();

  Journal& journal_;
  const std::uint64_t number_;
  const int socket_;
  std::uint64_t octets_ = 0;
  std::uint64_t written_ = 0;
};

/// Writes a line for each flow every second: `at_ns` (CLOCK_MONOTONIC), `flow` (a number), `octets`
/// since the line before and, of a TCP connection, `cwnd` (segments), `rtt_us` and `retransmitted`
/// (segments since its beginning). Lines go to standard output. Not thread-safe.
class Journal {
 public:
  /// Writes every second, until its executor stops.
  boost::asio::awaitable<void> run();
  /// Writes the rest.
  void finish();

 private:
  friend class Flow;

  std::set<Flow*> flows_;
  std::uint64_t next_ = 0;
};

}  // namespace simco::cross
