// The lease in the kernel: a set of the IP versions whose packets enable rules let pass. Its
// elements have a timeout, so the kernel ends the lease by itself.
#pragma once

#include <chrono>
#include <string>

#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"

namespace simco::backend::nftables {

/// The set's name in the kernel.
std::string lease_set(const Options& options);
/// Makes the set, empty: there is no lease.
void add_lease_set(const Options& options, MessageBuffer& batch);
/// Removes the set, which no rule may ask for.
void remove_lease_set(const Options& options, MessageBuffer& batch);
/// The lease lasts for `left` from when the kernel gets this; there is none if that is less than
/// kKernelTick.
void write_lease(const Options& options, std::chrono::milliseconds left, MessageBuffer& batch);

}  // namespace simco::backend::nftables
