// The plan of a run in one piece, as the kernel takes and returns it (replay.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "loadgen/sip/replay/replay.h"
#include "simco/net/bare_socket.hpp"

namespace simco::loadgen::replay {

/// The kernel's end of a plan.
class Device {
 public:
  /// Throws std::runtime_error if the kernel cannot replay.
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Gives it a socket, by REPLAY_SERVE or REPLAY_CONNECTION. Throws std::runtime_error.
void hand_over(int device, unsigned long command, const net::BareSocket& socket);

class Plan {
 public:
  /// For so many messages, with `octets` octets for all of their texts.
  Plan(std::size_t messages, std::size_t octets);
  /// Reads the plan of `device`, with what has happened; without messages if it has none. Throws
  /// std::runtime_error.
  static Plan read(int device);

  replay_plan& is() { return *reinterpret_cast<replay_plan*>(octets_.data()); }
  std::span<replay_message> messages();
  /// All of it.
  std::span<const std::byte> octets() { return std::span(octets_).first(texts_at_ + used()); }

  /// Adds a message; its texts come next.
  replay_message& add();
  /// Adds a text, `size` octets, and returns room for it.
  std::span<std::byte> text(std::size_t size);
  /// Octets of texts so far.
  std::uint32_t used() { return is().octets; }

 private:
  Plan() = default;
  std::vector<std::byte> octets_;
  std::size_t texts_at_ = 0;
};

}  // namespace simco::loadgen::replay
