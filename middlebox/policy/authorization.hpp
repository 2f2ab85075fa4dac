// Authorization: the agents of the configuration, each with its permitted requests, its limits, and
// the owners whose rules it may see or change. RFC 4540 leaves this to local policy and defines the
// replies.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "middlebox/policy/limits.hpp"
#include "middlebox/policy/rule_table.hpp"
#include "simco/wire/ip.hpp"
#include "simco/wire/messages.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::policy {

/// Policy rule transactions that an agent may be allowed, by the RFC's names.
enum class Transaction : std::uint8_t { kPrr, kPer, kPea, kPdr, kPlc, kPrs, kPrl };
inline constexpr std::array<std::string_view, 7> kTransactionNames = {"PRR", "PER", "PEA", "PDR",
                                                                      "PLC", "PRS", "PRL"};
inline constexpr std::size_t kTransactions = kTransactionNames.size();
constexpr std::string_view name_of(Transaction transaction) {
  return kTransactionNames[static_cast<std::size_t>(transaction)];
}

/// Name of an agent that did not authenticate: kAnonymousPrefix and its address.
inline constexpr std::string_view kAnonymousPrefix = "anonymous@";
/// Returns the owner name of an agent at the address `peer` that does not authenticate.
inline std::string anonymous_name(std::string_view peer) {
  return std::string(kAnonymousPrefix).append(peer);
}

/// True if all addresses of the tuple are in `allowed`, or that is empty.
bool within(const std::vector<IpPrefix>& allowed, const AddressTuple& tuple);
/// True if all ports of the tuple are in one range of `allowed`, or that is empty.
bool within(const std::vector<PortRange>& allowed, const AddressTuple& tuple);

/// The rights of an agent. The default is everything, except with the rules of other agents.
struct AgentPolicy {
  std::string name;               ///< or `anonymous@` and a prefix, see AgentDirectory
  std::string secret;             ///< for SA (7.3); empty: none
  bool has_certificate = false;   ///< needs no secret: it authenticates by TLS
  std::vector<IpPrefix> sources;  ///< addresses that it may connect from; empty: any
  std::bitset<kTransactions> transactions = std::bitset<kTransactions>().set();
  std::vector<IpPrefix> internal;  ///< addresses it may open or block; empty: all
  std::vector<IpPrefix> external;
  std::optional<std::bitset<256>> protocols;  ///< nullopt: all, including the wildcard
  std::vector<PortRange> internal_ports;      ///< empty: all
  std::vector<PortRange> external_ports;
  bool internal_wildcards = true;  ///< may wildcard internal addresses
  bool external_wildcards = true;
  bool port_wildcards = true;
  bool protocol_wildcards = true;
  bool may_extend = true;  ///< may extend lifetimes
  std::uint32_t rules_max = 0xFFFF'FFFF;
  std::uint32_t elements_max = 0xFFFF'FFFF;  ///< Rule::elements of all its rules
  std::uint32_t sessions_max = kAgentSessionsMaxDefault;
  std::uint32_t lifetime_max_s = 0xFFFF'FFFF;
  std::vector<std::string> may_see;     ///< owners; "*": all
  std::vector<std::string> may_change;  ///< owners whose rules it may see and change; "*": all

  bool allows(Transaction transaction) const {
    return transactions[static_cast<std::size_t>(transaction)];
  }
  /// True if it may request rules for these tuples. capabilities() has the permitted wildcards.
  bool allows(const AddressTuple& internal, const AddressTuple& external) const;
  bool allows_protocol(std::uint8_t protocol) const;
  /// False if it may use all wildcards of the middlebox.
  bool restricts_wildcards() const {
    return !internal_wildcards || !external_wildcards || !port_wildcards || !protocol_wildcards;
  }
  /// Returns the middlebox's capabilities `of`, reduced to the agent's rights (RFC 5189 2.1.8).
  Capabilities capabilities(const Capabilities& of) const;
  bool allows_source(const IpAddress& address) const;
  bool sees(std::string_view owner) const;
  bool changes(std::string_view owner) const;
  /// True if it may see rules of others.
  bool sees_others() const { return !may_see.empty() || !may_change.empty(); }
};

/// The agents of a configuration. Immutable: a new configuration makes a new object.
class AgentDirectory {
 public:
  /// Returns a directory in which every agent may do everything without authentication.
  static AgentDirectory open_to_all();

  /// Adds an agent; returns false if the name is taken. A name of kAnonymousPrefix and a prefix
  /// stands for all agents at its addresses that do not authenticate; "anonymous" alone for any
  /// address.
  bool add(AgentPolicy agent);

  /// Returns the policy for the owner name `name`, of an authenticated agent or anonymous@address,
  /// or nullptr.
  const AgentPolicy* find(std::string_view name) const;
  /// Returns the policy for an agent at `address` that does not authenticate, by the longest
  /// prefix, or nullptr.
  const AgentPolicy* find_anonymous(const IpAddress& address) const;

  /// Returns the policy for the agent that authenticates as `name`, or nullptr.
  const AgentPolicy* find_named(std::string_view name) const;

  /// Calls visit(const AgentPolicy&) for every agent.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [name, policy] : named_) visit(policy);
    for (const auto& one : anonymous_) visit(one.policy);
  }

  /// True if there are agents with names.
  bool has_named() const { return !named_.empty(); }
  /// True if there are agents that authenticate with a secret.
  bool has_secrets() const { return has_secrets_; }
  /// True if there are agents that do not authenticate.
  bool accepts_anonymous() const { return !anonymous_.empty(); }

 private:
  struct Anonymous {
    std::optional<IpPrefix> prefix;  ///< nullopt: any address
    AgentPolicy policy;
  };
  std::map<std::string, AgentPolicy, std::less<>> named_;
  std::vector<Anonymous> anonymous_;
  bool has_secrets_ = false;
};

/// Returns the transaction that `request` begins, or nullopt if it is not a policy rule request.
std::optional<Transaction> transaction_of(const Body& request);

class AgentDirectory;
struct AgentPolicy;

/// An agent that is known to the engine.
struct Agent {
  /// Owner attribute of its rules, at most kOwnerSizeMax octets; valid as long as the agent is in
  /// the table.
  std::string_view name;
  RuleList rules;                       ///< its live rules, in the order of their creation
  std::uint32_t rule_count = 0;         ///< number of its rules, pending ones included
  std::uint32_t elements = 0;           ///< sum of Rule::elements of its rules
  std::uint32_t live_count = 0;         ///< number of rules in `rules`
  std::uint32_t holds = 0;              ///< number of sessions and rules that keep it in the table
  const AgentPolicy* policy = nullptr;  ///< its rights; nullptr: no longer configured
};

/// The agents that own rules or have a session, by id and by name. An agent that has neither is
/// removed, so that peers with ever new addresses take no memory. Not thread-safe.
class AgentTable {
 public:
  Agent& operator[](AgentId id) { return agents_[id.value]; }
  const Agent& operator[](AgentId id) const { return agents_[id.value]; }
  std::size_t size() const { return by_name_.size(); }
  /// Returns the agent called `name`, if it is in the table.
  std::optional<AgentId> find(std::string_view name) const {
    const auto found = by_name_.find(std::string(name));
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Calls visit(AgentId) for every agent.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [name, id] : by_name_) visit(id);
  }

  /// Returns the agent called `name`, added if necessary, with a further hold.
  AgentId acquire(std::string_view name);
  /// Applies a new configuration. `directory` must outlive its use here.
  void apply(const AgentDirectory& directory);
  /// Returns the agents that may see rules of others.
  const std::vector<AgentId>& watchers() const { return watchers_; }
  void hold(AgentId id) { ++agents_[id.value].holds; }
  /// Removes a hold, and with the last hold the agent.
  void release(AgentId id);

 private:
  void resolve(AgentId id);

  std::vector<Agent> agents_;
  std::vector<AgentId> free_;
  std::unordered_map<std::string, AgentId> by_name_;
  std::vector<AgentId> watchers_;
  const AgentDirectory* directory_ = nullptr;
};

}  // namespace simco::policy
