#include "middlebox/serve/loop_call.hpp"

#include <utility>

namespace simco::middlebox {

LoopCall::LoopCall(boost::asio::io_context& io, std::function<void()> work)
    : work_(std::move(work)), event_(io, [this] { answer(); }) {}

bool LoopCall::call(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const auto request = ++asked_;
  event_.ring();
  return answered_now_.wait_for(lock, patience, [&] { return answered_ >= request; });
}

void LoopCall::answer() {
  std::unique_lock lock(mutex_);
  const auto request = asked_;
  lock.unlock();
  work_();
  lock.lock();
  answered_ = request;
  answered_now_.notify_all();
}

}  // namespace simco::middlebox
