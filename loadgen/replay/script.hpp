// The messages of a workload, as both its programs would write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "loadgen/replay/replay.h"
#include "simco/net/endpoint.hpp"

namespace simco::loadgen::replay {

/// A transaction.
struct Exchange {
  std::uint32_t number;  ///< that its octets and its stream follow from
  std::vector<std::byte> request;
  std::vector<std::byte> response;  ///< empty: none
};

/// A workload's messages.
class Script {
 public:
  Script() = default;
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;
  virtual ~Script() = default;

  /// The transaction at that place of the schedule, over a connection from `source`.
  virtual Exchange exchange(std::uint64_t index, const net::HostPort& source) const = 0;
  /// Sets where messages have their index, and timers other than --timeout; `first` is the first
  /// transaction. Throws std::runtime_error.
  virtual void complete(replay_plan& plan, const Exchange& first) const = 0;
};

}  // namespace simco::loadgen::replay
