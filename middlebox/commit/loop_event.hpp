// Wakes the loop from another thread. The loop has no locks of its own, so that thread cannot post
// to it: an eventfd does it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

namespace simco::middlebox {

class LoopEvent {
 public:
  /// `rung` is called from the loop, once for all calls of ring() since. Throws std::system_error
  /// if there are no more descriptors.
  LoopEvent(boost::asio::io_context& io, std::function<void()> rung);
  LoopEvent(const LoopEvent&) = delete;
  LoopEvent& operator=(const LoopEvent&) = delete;

  /// For any thread.
  void ring();

 private:
  void wait();

  std::function<void()> rung_;
  boost::asio::posix::stream_descriptor descriptor_;
};

}  // namespace simco::middlebox
