#include "middlebox/commit/loop_event.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace simco::middlebox {
namespace {

int make_event() {
  const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  return descriptor;
}

}  // namespace

LoopEvent::LoopEvent(boost::asio::io_context& io, std::function<void()> rung)
    : rung_(std::move(rung)), descriptor_(io, make_event()) {
  wait();
}

void LoopEvent::ring() {
  const std::uint64_t one = 1;
  // Cannot fail: the counter is far from its end.
  [[maybe_unused]] const auto written = ::write(descriptor_.native_handle(), &one, sizeof one);
}

void LoopEvent::wait() {
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;
                           std::uint64_t count = 0;
                           [[maybe_unused]] const auto read =
                               ::read(descriptor_.native_handle(), &count, sizeof count);
                           rung_();
                           wait();
                         });
}

}  // namespace simco::middlebox
