// The rules of the fixed chains: they look packets up in the sets of the shapes that are in use.
#pragma once

#include <vector>

#include "middlebox/backend/nftables/element.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"

namespace simco::backend::nftables {

/// Adds the rules of all chains, which are empty, to `batch`. Exact shapes come before those that
/// compare less, interval sets last.
void write_rules(const Options& options, std::vector<Shape> shapes, MessageBuffer& batch);

}  // namespace simco::backend::nftables
