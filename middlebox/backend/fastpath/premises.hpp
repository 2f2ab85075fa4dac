// Properties of this host and its interfaces, and conditions under which packets may skip the
// kernel's stack.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simco/wire/ip.hpp"

namespace simco::backend::fastpath {

/// Returns the hardware address of an interface; nullopt if it is gone or has none of 6 octets.
std::optional<std::array<std::uint8_t, 6>> hardware_address(const std::string& interface);

/// Returns whether it belongs to a pair of interfaces between two network namespaces.
bool is_veth(const std::string& interface);

/// Returns whether a feature that `ethtool -k` lists, by the kernel's name of it, is active;
/// nullopt if the kernel does not tell.
std::optional<bool> has_feature(const std::string& interface, std::string_view feature);

/// Returns the addresses of this host: the kernel drops IPv4 packets that arrive with such a
/// source, while the fast path looks at routes to the destination alone. That is the kernel's
/// routing table `local` in ascending order: addresses, and prefixes that are local as a whole.
/// nullopt if the kernel does not tell.
std::optional<std::vector<IpPrefix>> read_own_addresses();

/// Returns a treatment of packets between the interfaces that the kernel has and XDP lacks, if any,
/// as a clause with its remedy: rp_filter, VLAN tags beside the packet, routing by policy, IPsec.
/// If the kernel does not tell, it counts as present.
std::optional<std::string> unmet_premise(const std::string& internal_if,
                                         const std::string& external_if);

/// Returns the reason why packets redirected to the interface would be lost, if any, as a clause:
/// its driver does not send them, or a veth's peer does not take them.
std::optional<std::string> cannot_send(const std::string& interface);

}  // namespace simco::backend::fastpath
