// Connections without a session: however many there are, a newcomer gets in.
#pragma once

#include <cstddef>
#include <optional>

#include "middlebox/core/connection.hpp"
#include "simco/net/crowd.hpp"

namespace simco::middlebox {

/// Those over transports whose connections are costly are counted apart.
class Guests {
 public:
  /// See kGuestsMax and kAssociationGuestsMax.
  Guests(std::size_t max, std::size_t associations_max)
      : streams_(max), associations_(associations_max) {}

  /// Returns the guest that must go instead, if any: it has left.
  std::optional<Connection*> enter(Connection& guest) {
    return like(guest).enter(guest.candidate().address, &guest);
  }
  /// Nothing happens if it is not there.
  void leave(Connection& guest) { like(guest).leave(&guest); }

 private:
  using Crowd = net::Crowd<Connection*>;

  Crowd& like(const Connection& guest) { return guest.costly() ? associations_ : streams_; }

  Crowd streams_;
  Crowd associations_;
};

}  // namespace simco::middlebox
