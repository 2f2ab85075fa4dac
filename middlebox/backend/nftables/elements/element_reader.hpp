// Reads elements as the kernel tells of them: in the answer to a question, and in the echo of a
// removal. Without I/O.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/rule/rule_traffic.hpp"

namespace simco::backend::nftables {

/// An element of a set in the kernel.
struct KernelElement {
  std::string key;  ///< octets, followed by those of the end of an interval
  PacketCount counter;
};

/// Returns the name of the set that a message of nf_tables about elements names.
std::string_view set_named_in(const nlmsghdr* message);
/// Returns the elements in such a message.
std::vector<KernelElement> elements_in(const nlmsghdr* message);

}  // namespace simco::backend::nftables
