// Servers that answer every message of one association with kReplySize octets and do no work, on
// nothing but a stack's own interface, for comparison in bench-sctp. Each stack has a file of its
// own, because their headers give the same names other values. They never return.
#pragma once

#include <array>
#include <cstdint>

#include "tests/bench/session_driver.hpp"

namespace simco::bench {

/// The reply of the bare servers: kReplySize octets, with this length in the header.
inline constexpr std::array<char, kReplySize> kBareReply = {1, 0, 0, kReplySize - kHeaderSize};

/// usrsctp over UDP port `udp_port`, single-threaded as ours. `bundle`: Nagle's algorithm on, so
/// that replies share packets.
[[noreturn]] void bare_userland_server(std::uint16_t udp_port, std::uint16_t port, bool bundle);
/// The kernel's stack. `bundle`: MSG_MORE on all replies of a turn but the last.
[[noreturn]] void bare_kernel_server(std::uint16_t port, bool bundle);

}  // namespace simco::bench
