#include "tests/support/sctp_peer.hpp"

#include <boost/crc.hpp>
#include <utility>

#include "simco/wire/byte_io.hpp"

namespace simco::test {
namespace {

std::uint32_t read(std::span<const std::byte> at, std::size_t octets) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < octets; ++i) {
    value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  }
  return value;
}

template <class Use>
void for_each_chunk(std::span<const std::byte> packet, Use use) {
  packet = packet.subspan(12);
  while (packet.size() >= 4) {
    const std::size_t length = read(packet.subspan(2), 2);
    if (length < 4 || length > packet.size()) return;
    use(static_cast<Chunk>(packet[0]), read(packet.subspan(1), 1), packet.subspan(4, length - 4));
    packet = packet.subspan(std::min(packet.size(), (length + 3) / 4 * 4));
  }
}

}  // namespace

SctpPeer::SctpPeer(boost::asio::io_context& io, std::uint16_t udp_port, std::uint16_t sctp_port,
                   std::uint16_t own_sctp_port, std::uint8_t host)
    : address_(boost::asio::ip::make_address_v4(0x7F00'0000U + host)),
      socket_(io, Udp::endpoint(address_, 0)),
      remote_(boost::asio::ip::address_v4::loopback(), udp_port),
      sctp_port_(sctp_port),
      own_sctp_port_(own_sctp_port) {
  socket_.non_blocking(true);
}

void SctpPeer::send_init() {
  Octets body(16);
  ByteWriter out(body);
  out.u32(tag);
  out.u32(1'000'000);  // window
  out.u16(streams);
  out.u16(streams);
  out.u32(tsn_ = 1);
  seen_.clear();
  awaits_init_ack_ = true;
  send(0, Chunk::kInit, 0, body);
}

void SctpPeer::send_data(std::uint16_t stream, std::uint16_t sequence, const Octets& message) {
  Octets body(12);
  ByteWriter out(body);
  out.u32(tsn_++);
  out.u16(stream);
  out.u16(sequence);
  out.u32(payload_protocol);
  body.insert(body.end(), message.begin(), message.end());
  send(peer_tag, Chunk::kData, 3, body);
}

void SctpPeer::change_udp_port() {
  socket_ = Udp::socket(socket_.get_executor(), Udp::endpoint(address_, 0));
  socket_.non_blocking(true);
}

bool SctpPeer::receive(Chunk wanted) {
  bool found = false;
  for (;;) {
    Octets packet(65'536);
    boost::system::error_code error;
    Udp::endpoint from;
    const auto size = socket_.receive_from(boost::asio::buffer(packet), from, 0, error);
    if (error) return found;
    packet.resize(size);
    for_each_chunk(packet, [&](Chunk type, std::uint32_t flags, std::span<const std::byte> body) {
      if (type == Chunk::kInitAck) take_init_ack(body);
      if (type == Chunk::kData) take_data(flags, body);
      found = found || type == wanted;
    });
  }
}

// An INIT that was sent again is answered again, with another tag and cookie: the association is
// the first answer's.
void SctpPeer::take_init_ack(std::span<const std::byte> body) {
  if (!std::exchange(awaits_init_ack_, false)) return;
  peer_tag = read(body, 4);
  auto rest = body.subspan(16);
  while (rest.size() >= 4) {
    const auto type = read(rest, 2);
    const auto length = read(rest.subspan(2), 2);
    if (type == 7) cookie.assign(rest.begin() + 4, rest.begin() + length);
    rest = rest.subspan(std::min<std::size_t>(rest.size(), (length + 3) / 4 * 4));
  }
}

void SctpPeer::take_data(std::uint32_t flags, std::span<const std::byte> body) {
  const auto tsn = read(body, 4);
  if (seen_.insert(tsn).second) {
    i_bits.push_back((flags & 8) != 0);
    payload_protocols.push_back(read(body.subspan(8), 4));
    messages.emplace_back(body.begin() + 12, body.end());
  }
  Octets sack(12);
  ByteWriter out(sack);
  out.u32(tsn);
  out.u32(1'000'000);
  out.u32(0);
  send(peer_tag, Chunk::kSack, 0, sack);
}

void SctpPeer::send(std::uint32_t verification_tag, Chunk type, std::uint8_t flags,
                    const Octets& body) {
  Octets chunk(4);
  ByteWriter out(chunk);
  out.u8(static_cast<std::uint8_t>(type));
  out.u8(flags);
  out.u16(static_cast<std::uint16_t>(4 + body.size()));
  chunk.insert(chunk.end(), body.begin(), body.end());
  chunk.resize((chunk.size() + 3) / 4 * 4);
  send_packet(verification_tag, chunk);
}

void SctpPeer::send_packet(std::uint32_t verification_tag, const Octets& chunks) {
  Octets packet(12);
  ByteWriter out(packet);
  out.u16(own_sctp_port_);
  out.u16(sctp_port_);
  out.u32(verification_tag);
  packet.insert(packet.end(), chunks.begin(), chunks.end());
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(packet.data(), packet.size());
  for (std::size_t i = 0; i < 4; ++i) {  // least significant octet first
    packet[8 + i] = static_cast<std::byte>(crc.checksum() >> (8 * i));
  }
  boost::system::error_code error;
  socket_.send_to(boost::asio::buffer(packet), remote_, 0, error);
}

}  // namespace simco::test
