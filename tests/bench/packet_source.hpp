// UDP packets as a network card would hand them to a router: made by an XDP program, given to the
// interface's peer by a redirect, without sockets and system calls for each. The core that calls
// does all of it: makes a packet, forwards it, and drops it where it arrives.
#pragma once

#include <array>
#include <cstdint>

namespace simco::bench {

/// Between one host and others with addresses from `first` on, each packet to or from one of
/// `flows` by chance.
struct PacketFlows {
  std::array<std::uint8_t, 6> router;  ///< hardware address of the router's interface
  std::uint32_t one;                   ///< IPv4 addresses, in the machine's order
  std::uint32_t first;
  std::uint32_t flows;
  std::uint16_t port;       ///< both source and destination
  bool to_the_one = false;  ///< or from it
};

/// Sends `count` packets of 214 octets from `interface`, of the caller's network namespace, and
/// returns the processor's nanoseconds for each: the caller's, and those of deferred work of the
/// kernel on its core, which has to be core 1. `count` is rounded up to a multiple of 64. Needs
/// Linux 5.18 and CAP_BPF in the machine's own user namespace; exits with a message without.
double send_packets(const char* interface, const PacketFlows& flows, std::uint32_t count);

/// Drops packets that arrive at an interface as its driver hands them on, and counts them:
/// redirected packets never reach the kernel's stack. Exits with a message without CAP_BPF.
class PacketSink {
 public:
  /// `interface` of the caller's network namespace.
  explicit PacketSink(const char* interface);
  ~PacketSink();
  PacketSink(const PacketSink&) = delete;
  PacketSink& operator=(const PacketSink&) = delete;
  std::uint64_t arrived() const;

 private:
  int counter_;
  int link_;
};

/// Has the kernel take packets of `interface` in as those of a network card, which a redirect to
/// its peer needs.
void receive_as_a_card(const char* interface);

/// The hardware address of `interface`.
std::array<std::uint8_t, 6> hardware_address(const char* interface);

}  // namespace simco::bench
