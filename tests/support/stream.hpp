// A flow of UDP packets through a network, as a call has one.
#pragma once

#include <atomic>
#include <thread>

#include "tests/support/network.hpp"

namespace simco::test {

/// A packet every millisecond, and the count of those that did not arrive.
class Stream {
 public:
  Stream(const Udp& from, const Endpoint& to, const Udp& at);
  ~Stream() { finish(); }
  /// Sends the last packet, and waits for it.
  void finish();
  int sent() const { return sent_; }
  int lost() const { return sent_ - received_; }

 private:
  std::atomic<bool> ending_ = false;
  std::atomic<int> sent_ = 0;
  std::atomic<int> received_ = 0;
  std::thread receiver_;
  std::thread sender_;
};

}  // namespace simco::test
