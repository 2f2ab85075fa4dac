// Lines to a file descriptor that may be slow, stuck or gone, without waiting for it: a thread
// writes, and what does not fit into the queue is counted.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace simco::middlebox {

/// May be used by one thread at a time.
class LineWriter {
 public:
  /// Does not own `descriptor`.
  explicit LineWriter(int descriptor);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  /// Waits for what is queued to be written, for kLogPatience at most.
  ~LineWriter();

  /// Queues octets that end with a line feed. False: the queue is full (kLogQueueOctets).
  bool put(std::string line);

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared, int descriptor);

  std::shared_ptr<Shared> shared_;  ///< with a thread that may never return from its write
};

}  // namespace simco::middlebox
