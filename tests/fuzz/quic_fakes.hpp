// What stands in for TLS and for sockets around the parts of QUIC that are fuzzed.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "simco/net/datagram_port.hpp"

namespace simco::fuzz {

/// The frames of the next packet that is sealed and has room for them, in place of its own.
extern std::span<const std::byte> forged_frames;

/// The one port that is open, or null; and its user, who gets what the fuzzer wants.
extern net::DatagramPort* port;
extern net::DatagramPort::User* port_user;
/// What has been sent there.
struct Datagram {
  net::Path path;
  std::vector<std::byte> octets;
};
extern std::vector<Datagram> sent;

}  // namespace simco::fuzz
