// Lets a test change a packet that a connection of ours is about to seal: a peer that has the keys
// and breaks the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace simco::net::quic {

/// Changes the frames of a packet before it is sealed; their length stays.
using Forge = std::function<void(std::span<std::uint8_t> frames)>;

/// As long as it exists, all packets that this thread seals go through `forge`.
class Forger {
 public:
  explicit Forger(Forge forge);
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;
  ~Forger();
};

}  // namespace simco::net::quic
