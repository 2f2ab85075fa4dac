// The addresses of this host. The kernel drops IPv4 packets that arrive with such a source, while
// the fast path looks at routes to the destination alone.
#pragma once

#include <optional>
#include <vector>

#include "simco/wire/ip.hpp"

namespace simco::backend::fastpath {

/// Returns the kernel's routing table `local` in ascending order: addresses, and prefixes that are
/// local as a whole. nullopt if the kernel does not tell.
std::optional<std::vector<IpPrefix>> read_own_addresses();

}  // namespace simco::backend::fastpath
