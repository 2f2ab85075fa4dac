// The kernel's counters of dropped packets: named objects of the table, for each direction and
// reason. Only a packet that is dropped meets them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "middlebox/backend/backend.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"

namespace simco::backend::nftables {

/// Why a packet was dropped.
enum class DropReason : std::uint8_t {
  kNoRule,        ///< no enable rule allows it
  kDisableRule,   ///< a disable rule blocks it
  kForgedSource,  ///< from outside, with a source that no route expects there
  kNoBinding,     ///< NAT: to or from an address or port that is not translated
  kNoLease,       ///< this box stands by, and may lack changes of rules
};
inline constexpr auto kDropReasons = static_cast<std::size_t>(DropReason::kNoLease) + 1;

/// Packets dropped, by direction (first inbound, then outbound) and reason.
using DropCounts = std::array<std::uint64_t, 2 * kDropReasons>;

/// The name that the kernel knows the counter of packets by which are dropped for `reason`, on
/// their way in or out.
std::string drop_counter(const Options& options, bool inbound, DropReason reason);

/// Makes the counters, at 0, unless they are there.
void add_drop_counters(const Options& options, MessageBuffer& batch);
/// Removes the counters, whether they are there or not.
void remove_drop_counters(const Options& options, MessageBuffer& batch);

/// Asks the kernel for the counts: nothing if others have removed the table. Throws
/// std::system_error if the kernel cannot be asked.
std::optional<DropCounts> read_drop_counters(const Options& options, NetlinkSocket& socket);

/// Returns the counts as metrics.
Figures drop_figures(const DropCounts& counts);

}  // namespace simco::backend::nftables
