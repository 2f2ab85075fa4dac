// What has to hold on the router so that packets which skip the kernel's stack fare as in it.
#pragma once

#include <optional>
#include <string>

namespace simco::backend::fastpath {

/// Returns what the kernel would do with packets between the interfaces that XDP does not, if
/// anything, as a clause, and how to end that: rp_filter, VLAN tags beside the packet, routing by
/// policy, IPsec. What the kernel does not tell counts as if it would.
std::optional<std::string> unmet_premise(const std::string& internal_if,
                                         const std::string& external_if);

/// Returns why packets that are redirected to the interface would be lost, if they would, as a
/// clause: its driver does not send such ones, or a veth's peer does not take them.
std::optional<std::string> cannot_send(const std::string& interface);

}  // namespace simco::backend::fastpath
