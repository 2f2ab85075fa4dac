// Sockets set up as those of the channels, for a kernel that reads and writes them itself: the
// laboratory's user-mode Linux (simco-replay).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "simco/net/listener.hpp"
#include "simco/net/transport.hpp"

namespace simco::net {

/// A socket of TCP, the kernel's SCTP or UDP over IPv4. Functions throw std::runtime_error: what
/// could not be done, and the system's reason.
class BareSocket {
 public:
  explicit BareSocket(int fd, bool i_bit = false) : fd_(fd), i_bit_(i_bit) {}
  BareSocket(BareSocket&& other) noexcept;
  BareSocket(const BareSocket&) = delete;
  BareSocket& operator=(const BareSocket&) = delete;
  ~BareSocket();
  int fd() const { return fd_; }

  /// Connects to the first address of `to`.
  static BareSocket connected(const TransportOptions& options, const HostPort& to);
  /// Listens on the first address; over a transport that is not reliable the socket is the only
  /// one.
  static BareSocket listening(const ListenOptions& options);
  /// The next connection of a listening socket.
  BareSocket accepted(const ListenOptions& options) const;

  /// Sends a message, over SCTP on stream 0 with that payload protocol, as the first of a flow. It
  /// must fit.
  void send(std::span<const std::byte> message, std::uint32_t payload_protocol) const;
  /// Waits for a message of that size, for kCloseTimeout.
  std::vector<std::byte> receive(std::size_t size) const;

  HostPort local() const;
  /// Streams of an association towards the peer; 1 over other transports.
  std::uint16_t streams() const;

 private:
  int fd_;
  bool i_bit_;  ///< SCTP: the first message asks for an immediate SACK
};

/// Ends connections in order: waits until the peers have ended them as well, for kCloseTimeout
/// each.
void finish(std::span<const BareSocket> sockets);
/// The state at the end that the laboratory reads, by the names of TransportFigure: TCP's means
/// over the connections, or that of the first association.
std::map<std::string, double> figures_of(std::span<const BareSocket> sockets);
/// How long after the last message the next has the I bit; 0: none has it.
std::chrono::nanoseconds thin_flow_gap(const TransportOptions& options);

}  // namespace simco::net
