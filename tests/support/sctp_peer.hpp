// An SCTP peer made by hand, over UDP (RFC 6951), unlike any stack: the test sends each packet and
// writes its contents.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <set>
#include <span>
#include <vector>

#include "tests/support/octets.hpp"

namespace simco::test {

/// Chunk types of RFC 9260 section 3.2.
enum class Chunk : std::uint8_t {
  kData = 0,
  kInit = 1,
  kInitAck = 2,
  kSack = 3,
  kHeartbeat = 4,
  kHeartbeatAck = 5,
  kAbort = 6,
  kError = 9,
  kCookieEcho = 10,
  kCookieAck = 11,
};

class SctpPeer {
 public:
  using Udp = boost::asio::ip::udp;

  /// At 127.0.0.`host`.
  SctpPeer(boost::asio::io_context& io, std::uint16_t udp_port, std::uint16_t sctp_port,
           std::uint16_t own_sctp_port, std::uint8_t host = 1);

  std::uint16_t streams = 16;          ///< offered
  std::uint32_t payload_protocol = 0;  ///< of the messages that it sends
  /// Initiate tag of the next INIT.
  std::uint32_t tag = 0x1234'5678;

  void send_init();
  /// With the values of the INIT ACK.
  void send_cookie_echo() { send(peer_tag, Chunk::kCookieEcho, 0, cookie); }
  void send_data(std::uint16_t stream, std::uint16_t sequence, const Octets& message);
  /// Its answer comes when all that was sent before has been looked at.
  void send_heartbeat() { send(peer_tag, Chunk::kHeartbeat, 0, from_hex("0001 0008 01020304")); }
  /// As if the next DATA chunk had been lost.
  void lose_one() { ++tsn_; }
  /// As if a NAT had given it another port.
  void change_udp_port();
  /// Any octets after a header that is right.
  void send_junk(const Octets& junk) { send_packet(peer_tag, junk); }

  /// Takes the packets that have arrived. Returns whether a chunk of type `wanted` was among it.
  bool receive(Chunk wanted);

  std::uint32_t peer_tag = 0;
  Octets cookie;
  std::vector<Octets> messages;                  ///< received, each once however often it was sent
  std::vector<bool> i_bits;                      ///< of their DATA chunks (RFC 7053)
  std::vector<std::uint32_t> payload_protocols;  ///< likewise

 private:
  void take_init_ack(std::span<const std::byte> body);
  void take_data(std::uint32_t flags, std::span<const std::byte> body);
  void send(std::uint32_t verification_tag, Chunk type, std::uint8_t flags, const Octets& body);
  void send_packet(std::uint32_t verification_tag, const Octets& chunks);

  boost::asio::ip::address_v4 address_;
  Udp::socket socket_;
  Udp::endpoint remote_;
  std::uint16_t sctp_port_;
  std::uint16_t own_sctp_port_;
  std::uint32_t tsn_ = 1;
  bool awaits_init_ack_ = false;
  std::set<std::uint32_t> seen_;  ///< TSNs of the association
};

}  // namespace simco::test
