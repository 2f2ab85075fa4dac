// Packets that belong to no connection: the answers of an endpoint, and the peers that it lets in.
// Keeps nothing about peers, and has no I/O and no clock.
#pragma once

#include <array>
#include <boost/asio/ip/udp.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "simco/net/quic/credentials.hpp"

namespace simco::net::quic {

/// A connection identifier (RFC 9000 5.1): up to 20 octets.
using ConnectionId = std::string;
/// By which a peer knows that a packet of no connection ends one (RFC 9000 10.3).
using ResetToken = std::array<std::uint8_t, 16>;
/// Any clock that does not run backwards.
using Time = std::chrono::nanoseconds;

/// The destination's identifier of a packet that this end may have sent out, or nothing if it is
/// not a packet of QUIC version 1. Valid as long as the packet.
std::optional<std::string_view> destination_of(std::span<const std::byte> packet);
/// Returns the secret of the listener at `local`. Each has its own: its reset for an unknown
/// connection must not end another's (RFC 9000 21.11).
Secret secret_at(const Secret& secret, const boost::asio::ip::udp::endpoint& local);
/// A secret that is known here only.
Secret random_secret();
/// An identifier that cannot be guessed.
ConnectionId random_id();

class Gate {
 public:
  /// `resets`: with it, anyone can end connections. `retries`: with it, anyone can forge the tokens
  /// of a Retry, which only this gate uses.
  Gate(const Secret& resets, const Secret& retries) : resets_(resets), retries_(retries) {}
  /// Resets of identifiers that are given out from now on come from another secret.
  void renew(const Secret& resets) { resets_ = resets; }

  /// A connection may begin.
  struct Admission {
    ConnectionId peer;         ///< the peer's own
    ConnectionId destination;  ///< of its packets for the time being
    ConnectionId original;     ///< that of its very first packet
    std::string token;         ///< by which it has proved where it is (Retry); empty: it has not
  };
  /// To be sent back: never longer than three times the received octets.
  using Answer = std::vector<std::byte>;
  /// std::monostate: nothing happens.
  using Verdict = std::variant<std::monostate, Admission, Answer>;

  /// Judges a packet from `remote` whose destination is unknown. `proof`: a peer must first prove
  /// that packets reach it.
  Verdict judge(std::span<const std::byte> packet, const boost::asio::ip::udp::endpoint& remote,
                bool proof, Time now) const;
  ResetToken reset_token(const ConnectionId& id) const;

 private:
  Verdict reset(std::span<const std::byte> packet) const;
  Verdict admission(std::span<const std::byte> packet, const boost::asio::ip::udp::endpoint& remote,
                    bool proof, Time now) const;

  Secret resets_;
  Secret retries_;
};

}  // namespace simco::net::quic
