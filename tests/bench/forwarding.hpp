// A router of many hosts, in namespaces of its own.
#pragma once

#include <cstdint>

#include "tests/support/network.hpp"

namespace simco::bench {

/// Addresses of internal hosts begin here, in the machine's order.
inline constexpr std::uint32_t kFirstHost = 0x0A00'0001;
/// The external host, 192.0.2.2.
inline constexpr std::uint32_t kOutsideHost = 0xC000'0202;

/// A router that the caller's thread moves to, with every address of 10.0.0.0/8 on the one side
/// (int0, whose other end is eth0 of `inside`) and 192.0.2.2 on the other (ext0, `outside`).
struct Forwarding {
  Forwarding();
  test::NetworkNamespace inside;
  test::NetworkNamespace outside;
  test::NetworkNamespace router;
};

}  // namespace simco::bench
