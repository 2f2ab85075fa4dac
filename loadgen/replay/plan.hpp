// The plan of a run, as the kernel takes and returns it (replay.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "loadgen/replay/replay.h"
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
  /// Reads the plan of `device`, with what has happened; without messages if it has none. Throws
  /// std::runtime_error.
  static Plan read(int device);
  /// Throws std::runtime_error if the kernel refuses it.
  void write(int device) const;

  replay_plan is{};
  std::vector<replay_message> messages;

  /// Adds a text and returns its place.
  std::uint32_t add(std::span<const std::byte> text);

 private:
  std::vector<std::byte> texts_;
};

}  // namespace simco::loadgen::replay
