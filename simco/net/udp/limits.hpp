// Bounds of the UDP transport.
#pragma once

#include <cstddef>

namespace simco::net::udp {

/// Peers of a listening socket at a time, each with a channel; with more, the source with the most
/// loses its oldest. A datagram costs its sender nothing, so this bounds the memory of a flood.
inline constexpr std::size_t kPeersMax = 4096;
/// The longest datagram over IPv4, octets: 65,535 without the headers of IP and UDP. IPv6 takes 20
/// more.
inline constexpr std::size_t kPayloadMax = 65'507;

}  // namespace simco::net::udp
