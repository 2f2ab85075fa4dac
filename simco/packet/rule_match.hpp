// Which packets a pair of address tuples stands for. The meaning that backends enforce and simcoctl
// explains. Pure values.
#pragma once

#include <cstdint>
#include <optional>

#include "simco/wire/attributes.hpp"
#include "simco/wire/ip.hpp"

namespace simco::packet {

/// Consecutive ports; count 0: any port.
struct Ports {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  bool any() const { return count == 0; }
  bool contain(std::uint16_t port) const { return any() || port - first < count; }
  std::uint16_t last() const { return static_cast<std::uint16_t>(first + count - 1); }
};

/// The ports of both sides of a rule. If neither is any, the n-th port of one side goes with the
/// n-th of the other (RFC 5189 section 2.3.6).
struct Pairing {
  Ports internal;
  Ports external;
};

/// Returns the ports of two tuples that have passed the checks of 8.3.1. kAnyPortRange fits
/// every range of the other side, and so stands for any port.
Pairing pairing_of(const AddressTuple& internal, const AddressTuple& external);

/// Both ends of a packet, each on its own side of the middlebox. Ports are 0 if its protocol has
/// none.
struct Packet {
  std::uint8_t protocol = 0;
  IpAddress internal;
  std::uint16_t internal_port = 0;
  IpAddress external;
  std::uint16_t external_port = 0;
};

/// Which parts of a packet agree with a pair of tuples.
struct Agreement {
  bool protocol = false;
  bool internal_address = false;
  bool external_address = false;
  bool internal_port = false;
  bool external_port = false;
  bool pairing = false;  ///< of its ports, if both are of the rule

  /// Number of parts that do not agree. 0: the tuples stand for the packet.
  int faults() const {
    return !protocol + !internal_address + !external_address + !internal_port + !external_port +
           (internal_port && external_port && !pairing);
  }
};

/// Compares a packet with a pair of tuples that have passed the checks of 8.3.1, in any direction.
/// Returns nullopt if the IP version is another.
std::optional<Agreement> compare(const AddressTuple& internal, const AddressTuple& external,
                                 const Packet& packet);

}  // namespace simco::packet
