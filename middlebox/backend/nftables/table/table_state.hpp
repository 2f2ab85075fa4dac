// Reads the kernel's contents of a table, except the elements.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/netlink.hpp"

namespace simco::backend::nftables {

/// A flag of a table: it belongs to a process, and only that can change it.
inline constexpr std::uint32_t kTableOwned = 2;

struct TableState {
  bool exists = false;
  bool ours = false;  ///< has the comment by which we know our own
  std::uint32_t flags = 0;
  std::uint64_t handle = 0;
  std::set<std::string> chains;      ///< names
  std::vector<std::uint64_t> rules;  ///< handles, chain by chain, in their order
  std::vector<std::string> sets;     ///< names

  /// Nothing but elements has changed since. Two tables that are not there have nothing in common.
  bool same_frame(const TableState& other) const {
    return same_table(other) && rules == other.rules;
  }
  bool same_table(const TableState& other) const {
    return exists && other.exists && handle == other.handle && flags == other.flags;
  }
};

/// Asks for the table called `name` of family inet alone, without its contents. Throws
/// std::system_error.
TableState look_for_table(NetlinkSocket& socket, const std::string& name);

/// Asks for the table called `name` of family inet, and for the rules of those of its chains that
/// are in `chains`. Throws std::system_error.
TableState look_at_table(NetlinkSocket& socket, const std::string& name,
                         const std::vector<std::string>& chains);

}  // namespace simco::backend::nftables
