// Lets another thread have the loop do something, and wait for it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "middlebox/commit/loop_event.hpp"

namespace simco::middlebox {

/// Made by the loop's thread. Must outlive the threads that use it.
class LoopCall {
 public:
  /// `work` runs in the loop. Throws std::system_error if there are no more descriptors.
  LoopCall(boost::asio::io_context& io, std::function<void()> work);

  /// For any other thread: has the loop call `work`, and waits until it has, `patience` at most.
  /// One call of `work` serves all who wait. Returns false if there was none in time.
  bool call(std::chrono::milliseconds patience);

 private:
  void answer();

  std::function<void()> work_;
  std::mutex mutex_;
  std::condition_variable answered_now_;
  std::uint64_t asked_ = 0;
  std::uint64_t answered_ = 0;  ///< the last request that `work` was called after
  LoopEvent event_;
};

}  // namespace simco::middlebox
