// Fakes of TLS and sockets around the parts of QUIC that are fuzzed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "simco/net/datagram_port.hpp"

namespace simco::fuzz {

/// The frames of the next packet that is sealed and has room for them, in place of its own.
extern std::span<const std::byte> forged_frames;

/// The only open port, or null; and its user, which gets the fuzzer's packets.
extern net::DatagramPort* port;
extern net::DatagramPort::User* port_user;
/// The packets that were sent there.
struct Datagram {
  net::Path path;
  std::vector<std::byte> octets;
};
extern std::vector<Datagram> sent;

}  // namespace simco::fuzz
