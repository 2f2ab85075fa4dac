// The fixed part of the data path: table, chains, sets and the rules that look packets up in them.
// Messages for the kernel are made here with libnftnl; nothing is sent.
//
// The chains:
//   forward              packets between the two interfaces, by direction and IP version, to
//   from-outside4/6      packets from the external network
//   from-inside4/6       packets from the internal network
//   errors-outside4/6    ICMP errors that come from outside, judged by the flow they are about
//   errors-inside4/6     the same from inside
//   fragments            has the kernel put fragments together; no packet meets it
//   untracked            keeps UDP out of connection tracking (kNotrack)
//   prerouting           translates destinations (NAT)
//   postrouting          translates sources (NAT)
//   input                leads packets to guarded ports of this machine to guarded4/6, and keeps
//                        packets to unbound ports of the NAT's pools from the router (NAT)
//   guarded4/6           packets from other machines to guarded ports
//   output               blocks packets of this machine by disable rules, with guards
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/elements/element_writer.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/backend/nftables/table/rule.hpp"

namespace simco::backend::nftables {

/// A flag of a table: it belongs to a process, and only that can change it.
inline constexpr std::uint32_t kTableOwned = 2;

/// The kernel's contents of a table, except the elements.
struct TableState {
  bool exists = false;
  bool ours = false;  ///< has the comment by which we know our own
  std::uint32_t flags = 0;
  std::uint64_t handle = 0;
  std::set<std::string> chains;      ///< names
  std::string guards;                ///< in force, as guard_text() has them
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

/// By which the middlebox knows that a table is its own: the table's comment begins with it.
inline constexpr const char* kTableComment = "made by simco-middlebox";

/// The chain whose comment is guard_text().
inline constexpr const char* kGuardedChain = "guarded4";

/// Makes messages. Those of a batch go into the same MessageBuffer.
class Ruleset {
 public:
  explicit Ruleset(const Options& options) : options_(options) {}

  /// The table if it is ours, all chains, empty, and the counters. A claimed table belongs to the
  /// socket that the batch is sent by.
  void add_frame(bool claimed, MessageBuffer& batch) const;
  // Batches without effect, as trials of the kernel's abilities:
  void try_to_claim(MessageBuffer& batch) const;
  void try_to_check_sources(MessageBuffer& batch) const;
  void try_to_defragment(MessageBuffer& batch) const;
  /// The set of `mask`, empty.
  void add_set(const Mask& mask, MessageBuffer& batch) const;
  void remove_set(const Mask& mask, MessageBuffer& batch) const;
  /// Replaces the rules of all chains by those that look up `masks`.
  void replace_rules(const std::vector<Mask>& masks, MessageBuffer& batch) const;
  void remove_table(MessageBuffer& batch) const;
  /// The same whether there is such a table or not.
  void remove_any_table(MessageBuffer& batch) const;
  /// Removes our chains and sets from a site's table that looks like `state`.
  void clear_site_table(const TableState& state, MessageBuffer& batch) const;

  /// Chains that the site's chains jump to, by their names in the kernel.
  std::vector<std::string> entry_chains() const;
  /// Every chain's name in the kernel.
  std::vector<std::string> chains() const;

 private:
  void try_rule(Rule& (*add)(Rule&), MessageBuffer& batch) const;
  std::string trial_table() const;
  void add_trial_table(std::uint32_t flags, MessageBuffer& batch) const;
  void remove_trial_table(MessageBuffer& batch) const;
  void flush_chain(const std::string& name, MessageBuffer& batch) const;

  const Options& options_;
};

}  // namespace simco::backend::nftables
