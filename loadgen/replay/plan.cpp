// Header, messages and texts in succession.
#include "loadgen/replay/plan.hpp"

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

Plan Plan::read(int device) {
  Plan plan;
  const auto fill = [device](std::span<std::byte> room, std::size_t at) {
    while (!room.empty()) {
      const auto got = ::pread(device, room.data(), room.size(), static_cast<off_t>(at));
      if (got < 0) fail("cannot read the plan");
      if (got == 0) return;
      at += static_cast<std::size_t>(got);
      room = room.subspan(static_cast<std::size_t>(got));
    }
  };
  fill(std::as_writable_bytes(std::span(&plan.is, 1)), 0);
  plan.messages.resize(plan.is.count);
  fill(std::as_writable_bytes(std::span(plan.messages)), sizeof plan.is);
  return plan;
}

void Plan::write(int device) const {
  std::vector<std::byte> all;
  all.reserve(sizeof is + messages.size() * sizeof(replay_message) + texts_.size());
  replay_plan header = is;
  header.count = static_cast<std::uint32_t>(messages.size());
  header.octets = static_cast<std::uint32_t>(texts_.size());
  const auto append = [&all](std::span<const std::byte> part) {
    all.insert(all.end(), part.begin(), part.end());
  };
  append(std::as_bytes(std::span(&header, 1)));
  append(std::as_bytes(std::span(messages)));
  append(texts_);
  if (::write(device, all.data(), all.size()) != static_cast<ssize_t>(all.size())) {
    fail("the kernel does not take the plan");
  }
}

std::uint32_t Plan::add(std::span<const std::byte> text) {
  const auto at = static_cast<std::uint32_t>(texts_.size());
  texts_.insert(texts_.end(), text.begin(), text.end());
  return at;
}

}  // namespace simco::loadgen::replay
