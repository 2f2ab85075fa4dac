// Peers in another's name: whether packets of a connection reach the address that they say they
// come from (RFC 9000 8.1).
#pragma once

#include <span>
#include <utility>

#include "simco/net/quic/gate.hpp"

namespace simco::net::quic {

class AddressProof {
 public:
  /// `admission`: of a peer that has begun the connection; nullptr: this end has.
  explicit AddressProof(const Gate::Admission* admission)
      : first_id_(admission != nullptr ? admission->destination : ConnectionId()),
        given_(admission != nullptr && !admission->token.empty()) {}

  /// A packet proves it that goes to an identifier which only this end can have told the peer.
  void look_at(std::span<const std::byte> packet) {
    if (!given_) given_ = destination_of(packet) != first_id_;
  }
  bool given() const { return given_; }
  /// The peer must be asked for it (Retry).
  void want() { wanted_ = true; }
  bool wanted() const { return wanted_; }

 private:
  ConnectionId first_id_;  ///< to which the peer's first packet went
  bool given_;
  bool wanted_ = false;
};

}  // namespace simco::net::quic
