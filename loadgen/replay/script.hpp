// The messages of a workload, as both its programs would write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "loadgen/replay/replay.h"
#include "simco/net/bare_socket.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::loadgen::replay {

/// A transaction.
struct Exchange {
  std::uint32_t number;  ///< that its octets and its stream follow from
  std::vector<std::byte> request;
  std::vector<std::byte> response;  ///< empty: none
  std::vector<std::byte> later;     ///< a message that follows the response; empty: none
};

/// The agent's end of a connection.
struct Place {
  net::HostPort source;
  std::uint16_t streams;  ///< towards the server
};

/// A workload's messages.
class Script {
 public:
  Script() = default;
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  virtual ~Script() = default;

  /// Opens a session over the connection, if there is one. Throws std::runtime_error.
  virtual void open(const net::BareSocket&) const {}
  /// The transaction at that place of the schedule, over that connection.
  virtual Exchange exchange(std::uint64_t index, const Place& place) const = 0;
  /// Sets where messages have their index, and timers other than --timeout; `first` is the first
  /// transaction. Throws std::runtime_error.
  virtual void complete(replay_plan& plan, const Exchange& first) const = 0;
};

}  // namespace simco::loadgen::replay
