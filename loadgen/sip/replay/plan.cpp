// One buffer, which the kernel takes and returns as it is.
#include "loadgen/sip/replay/plan.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace simco::loadgen::replay {

namespace {

constexpr const char* kDevice = "/proc/replay";

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

Device::Device() : fd_(::open(kDevice, O_RDWR | O_CLOEXEC)) {
  if (fd_ < 0) fail("this kernel cannot replay");
}

Device::~Device() { ::close(fd_); }

void hand_over(int device, unsigned long command, const net::BareSocket& socket) {
  if (::ioctl(device, command, socket.fd()) != 0) fail("the kernel does not take a socket");
}

Plan::Plan(std::size_t messages, std::size_t octets)
    : octets_(sizeof(replay_plan) + messages * sizeof(replay_message) + octets),
      texts_at_(octets_.size() - octets) {}

Plan Plan::read(int device) {
  Plan plan;
  plan.octets_.resize(sizeof(replay_plan));
  const auto fill = [&](std::size_t from) {
    while (from < plan.octets_.size()) {
      const auto got = ::pread(device, &plan.octets_[from], plan.octets_.size() - from,
                               static_cast<off_t>(from));
      if (got < 0) fail("cannot read the plan");
      if (got == 0) return;
      from += static_cast<std::size_t>(got);
    }
  };
  fill(0);
  plan.octets_.resize(sizeof(replay_plan) + plan.is().count * sizeof(replay_message));
  fill(sizeof(replay_plan));
  return plan;
}

std::span<replay_message> Plan::messages() {
  return {reinterpret_cast<replay_message*>(octets_.data() + sizeof(replay_plan)), is().count};
}

replay_message& Plan::add() {
  ++is().count;
  return messages().back();
}

std::span<std::byte> Plan::text(std::size_t size) {
  const auto at = texts_at_ + is().octets;
  is().octets += static_cast<std::uint32_t>(size);
  return std::span(octets_).subspan(at, size);
}

}  // namespace simco::loadgen::replay
