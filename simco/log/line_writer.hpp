// Writes lines to a file descriptor that may be slow, blocked or closed, without waiting for it: a
// thread writes, and lines that do not fit into the queue are rejected.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace simco {

/// A bounded queue and its writer thread. Use from one thread at a time.
class LineWriter {
 public:
  /// Does not own `descriptor`. `begin` is called by the writer thread before anything else; it may
  /// be empty.
  LineWriter(int descriptor, const std::function<void()>& begin);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  /// Waits for queued lines to be written, for kLogPatience at most.
  ~LineWriter();

  /// Queues a line, which must end with a line feed. Returns false if the queue is full
  /// (kLogQueueOctets).
  bool put(std::string line);

 private:
  struct Shared;
  static void run(Shared& shared, int descriptor);

  std::shared_ptr<Shared> shared_;  ///< with a thread that may never return from its write
};

}  // namespace simco
