// Two hosts and the router between them, whose middlebox enforces rules with nftables.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/router_box.hpp"
#include "tests/support/stream.hpp"

namespace simco::test {

/// The addresses of one IP version.
struct Addresses {
  std::string host;     ///< internal host
  std::string host2;    ///< its other address
  std::string peer;     ///< external host
  std::string peer2;    ///< another external host
  std::string pool;     ///< of a NAT, routed to the router
  std::string in_pool;  ///< of a twice NAT
};
inline const Addresses kV4{"10.0.0.2",  "10.0.0.3",     "192.0.2.2",
                           "192.0.2.3", "198.51.100.1", "10.9.0.1"};
inline const Addresses kV6{"2001:db8:1::2", "2001:db8:1::3", "2001:db8:2::2",
                           "2001:db8:2::3", "2001:db8:5::1", "2001:db8:9::1"};

inline std::string at(const std::string& address, int port, int range = 1) {
  const auto host = !address.contains(':') ? address : "[" + address + "]";
  return host + ":" + std::to_string(port) + (range == 1 ? "" : "/" + std::to_string(range));
}

/// A rule of the site's own that has the kernel track connections.
inline constexpr const char* kTheSiteTracks =
    "nft 'add table inet tracks; add chain inet tracks c { type filter hook forward priority -10; "
    "}; add rule inet tracks c ct state invalid counter'";

/// "IPv4" and "IPv6", and both with the fast path if it is a part of the build.
inline constexpr auto kRouters = std::to_array<const char*>({
    "IPv4",
    "IPv6",
#ifdef SIMCO_XDP
    "IPv4Xdp",
    "IPv6Xdp",
#endif
});

/// Runs for each IP version; with a further "Xdp", the fast path is on, and takes what it can.
class Router : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::string_view(GetParam()).ends_with("Xdp")) return;
    if (const auto missing = net.lacks_fast_path()) GTEST_SKIP() << "this machine: " << *missing;
    net.make_fast();
    RouterBox::add_to_all({"--fast-path", "xdp"});
    Udp::expect_pairs(true);
  }
  void TearDown() override {
    RouterBox::add_to_all({});
    Udp::expect_pairs(false);
  }
  const Addresses& a() const {
    return std::string_view(GetParam()).starts_with("IPv4") ? kV4 : kV6;
  }
  Words nat(const std::string& ports = "30000-30999") const {
    return {"--mode", "nat", "--outside", a().pool, "--ports", ports};
  }
  /// The ends that most rules are for.
  struct UdpEnds {
    Udp host;
    Udp peer;
  };
  UdpEnds udp() const {
    return {Udp(net.inside, {a().host, 5004}), Udp(net.outside, {a().peer, 6004})};
  }
  /// What the host sends to the peer leads to an ICMP error that reaches it.
  bool nobody_listens() const {
    const Udp host(net.inside, {a().host, 5004});
    const auto raw = Endpoint{a().peer, 6004}.raw();
    return ::connect(host.descriptor(), reinterpret_cast<const sockaddr*>(&raw),
                     Socket::size_of(raw)) == 0 &&
           ::send(host.descriptor(), "x", 1, 0) == 1 && host.error() == ECONNREFUSED;
  }
  Network net;
};

}  // namespace simco::test
