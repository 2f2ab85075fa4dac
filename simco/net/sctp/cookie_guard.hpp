// Ties the state cookie of an INIT ACK to the path that the INIT ACK takes.
//
// usrsctp's own cookie knows the peer by a number and not by an address (see userland_stack.hpp),
// so it would accept the cookie on any path: an attacker who sees an INIT ACK could open
// associations under a foreign address. So a MAC over the path is added to each cookie that leaves,
// and taken off each COOKIE ECHO that comes; without the right MAC, the COOKIE ECHO is dropped.
// Nothing is kept for it: an INIT leaves no trace (RFC 9260 section 5.1.3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simco/net/datagram_port.hpp"

namespace simco::net::sctp {

class CookieGuard {
 public:
  /// Creates a guard with a random key of its own. Throws std::system_error without random numbers.
  CookieGuard();

  /// A packet for the peer with this number at the end of `path`, about to leave: an INIT ACK comes
  /// back with the MAC in its cookie, any other as it is. Valid until the next call.
  std::span<const std::byte> seal(const Path& path, std::uint16_t number,
                                  std::span<const std::byte> packet);

  /// Does the packet have a COOKIE ECHO chunk?
  static bool has_cookie(std::span<const std::byte> packet);
  /// Such a packet, without the MAC, if its path and number are those of its cookie. Valid until
  /// the next call.
  std::optional<std::span<const std::byte>> open(const Path& path, std::uint16_t number,
                                                 std::span<const std::byte> packet);

 private:
  static constexpr std::size_t kMacSize = 16;
  using Mac = std::array<std::byte, kMacSize>;

  /// Over the path, the SCTP ports as this side has them, and the cookie.
  Mac mac_of(const Path& path, std::uint16_t number, std::uint16_t local_port,
             std::uint16_t remote_port, std::span<const std::byte> cookie);

  std::array<std::byte, 32> key_;
  std::vector<std::byte> packet_;
  std::vector<std::byte> message_;  ///< input of the MAC
};

}  // namespace simco::net::sctp
