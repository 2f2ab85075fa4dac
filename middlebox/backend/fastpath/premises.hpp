// Conditions under which packets may skip the kernel's stack.
#pragma once

#include <optional>
#include <string>

namespace simco::backend::fastpath {

/// Returns a treatment of packets between the interfaces that the kernel has and XDP lacks, if any,
/// as a clause with its remedy: rp_filter, VLAN tags beside the packet, routing by policy, IPsec.
/// If the kernel does not tell, it counts as present.
std::optional<std::string> unmet_premise(const std::string& internal_if,
                                         const std::string& external_if);

/// Returns the reason why packets redirected to the interface would be lost, if any, as a clause:
/// its driver does not send them, or a veth's peer does not take them.
std::optional<std::string> cannot_send(const std::string& interface);

}  // namespace simco::backend::fastpath
