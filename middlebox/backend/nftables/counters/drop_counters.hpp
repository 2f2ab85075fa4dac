// The kernel's counters of dropped packets: named objects of the table, one for each direction and
// reason. Only a packet that is dropped meets them.
#pragma once

#include <optional>
#include <string>

#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/rule/dropped_packets.hpp"

namespace simco::backend::nftables {

using rule::DropReason;

/// The name that the kernel knows the counter of packets by which are dropped for `reason`, on
/// their way in or out.
std::string drop_counter(const Options& options, bool inbound, DropReason reason);

/// Makes the counters, at 0, unless they are there.
void add_drop_counters(const Options& options, MessageBuffer& batch);
/// Removes the counters, whether they are there or not.
void remove_drop_counters(const Options& options, MessageBuffer& batch);

/// Asks the kernel what they count: nothing if they are not there, because others have removed the
/// table. Throws std::system_error if the kernel cannot be asked.
std::optional<rule::DroppedPackets> read_drop_counters(const Options& options,
                                                       NetlinkSocket& socket);

}  // namespace simco::backend::nftables
