// The rules of a NAT: they translate packets, and keep them away from unbound ports.
#pragma once

#include <vector>

#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/backend/nftables/table/set_name.hpp"

namespace simco::backend::nftables {

/// Adds to `batch` the rules that translate by `masks`, in their order, and those that guard the
/// pools of `options`. They go to the end of their chains.
void write_nat_rules(const Options& options, const std::vector<Mask>& masks, MessageBuffer& batch);

}  // namespace simco::backend::nftables
