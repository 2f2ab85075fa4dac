// The rules of the fixed chains: they look packets up in the sets of the masks that are in use.
#pragma once

#include <vector>

#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/backend/nftables/table/set_name.hpp"

namespace simco::backend::nftables {

/// Adds the rules of all chains, which are empty, to `batch`. Exact masks come before those that
/// compare less, interval sets last.
void write_rules(const Options& options, std::vector<Mask> masks, MessageBuffer& batch);

}  // namespace simco::backend::nftables
