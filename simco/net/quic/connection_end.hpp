// How a connection ends: what has been seen of it, and what is said of it.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simco/net/quic/ngtcp2_guard.hpp"

struct ngtcp2_conn;

namespace simco::net::quic {

/// RFC 9001 4.8: the code of a transport error is this and the alert of TLS.
inline constexpr std::uint64_t kAlertBase = 0x100;

/// The end of a connection, once there is a reason for it.
class ConnectionEnd {
 public:
  /// None if the peer closed it in an orderly way.
  const std::optional<boost::system::error_code>& reason() const { return reason_; }
  bool reached() const { return reason_.has_value(); }
  /// Only the first reason counts.
  void set(const boost::system::error_code& reason) {
    if (!reason_) reason_ = reason;
  }
  /// The peer has closed `connection`.
  void set_closed_by_peer(ngtcp2_conn* connection);

  // --- Seen in a packet

  /// The library must not see it.
  void refuse(Refusal why) { refused_ = why; }
  const std::optional<Refusal>& refused() const { return refused_; }
  /// The peer has given up a stream, and messages with it.
  void note_broken() { broken_ = true; }
  bool broken() const { return broken_; }
  /// The peer knows nothing of this connection (stateless reset).
  void note_reset() { reset_ = true; }

  // --- Said of it

  /// As Connection has it.
  const std::optional<std::vector<std::byte>>& closing_packet() const { return closing_packet_; }
  void set_farewell(std::span<const std::byte> packet) {
    closing_packet_.emplace(packet.begin(), packet.end());
  }

 private:
  std::optional<boost::system::error_code> reason_;
  std::optional<Refusal> refused_;
  std::optional<std::vector<std::byte>> closing_packet_;
  bool broken_ = false;
  bool reset_ = false;
};

}  // namespace simco::net::quic
