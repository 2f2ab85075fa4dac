// Who may do what: the agents that the operator has named, each with what it may ask for, how much
// of it, and whose rules it may see or change. RFC 4540 leaves this to local policy and fixes the
// replies.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simco/wire/ip.hpp"
#include "simco/wire/messages.hpp"

namespace simco::policy {

/// Policy rule transactions that an agent may be allowed, by the RFC's names.
enum class Transaction : std::uint8_t { kPrr, kPer, kPea, kPdr, kPlc, kPrs, kPrl };
inline constexpr std::size_t kTransactions = 7;

/// Name of an agent that did not authenticate: kAnonymousPrefix and its address.
inline constexpr std::string_view kAnonymousPrefix = "anonymous@";
/// The owner name of an agent at the address `peer` that does not authenticate.
inline std::string anonymous_name(std::string_view peer) {
  return std::string(kAnonymousPrefix).append(peer);
}

struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 65535;
};

/// What one agent may do. The default is everything, but nothing with other agents' rules.
struct AgentPolicy {
  std::string name;               ///< or `anonymous@` and a prefix, see AgentDirectory
  std::string secret;             ///< for SA (7.3); empty: none
  bool has_certificate = false;   ///< may do without a secret: it comes with TLS
  std::vector<IpPrefix> sources;  ///< where its connections may come from; empty: anywhere
  std::bitset<kTransactions> transactions = std::bitset<kTransactions>().set();
  std::vector<IpPrefix> internal;  ///< addresses it may open or block; empty: all
  std::vector<IpPrefix> external;
  std::optional<std::bitset<256>> protocols;  ///< nothing: all, and the wildcard too
  std::vector<PortRange> internal_ports;      ///< empty: all
  std::vector<PortRange> external_ports;
  bool internal_wildcards = true;  ///< may wildcard internal addresses
  bool external_wildcards = true;
  bool port_wildcards = true;
  bool protocol_wildcards = true;
  bool may_extend = true;  ///< a lifetime may be changed to end later than it would
  std::uint32_t rules_max = 0xFFFF'FFFF;
  std::uint32_t elements_max = 0xFFFF'FFFF;  ///< Rule::elements of all its rules
  std::uint32_t sessions_max = 0xFFFF'FFFF;
  std::uint32_t lifetime_max_s = 0xFFFF'FFFF;
  std::vector<std::string> may_see;     ///< owners; "*": all
  std::vector<std::string> may_change;  ///< owners, whose rules it may see as well

  bool allows(Transaction transaction) const {
    return transactions[static_cast<std::size_t>(transaction)];
  }
  /// May it ask for traffic between these tuples? Whether it may wildcard, capabilities() says.
  bool allows(const AddressTuple& internal, const AddressTuple& external) const;
  bool allows_protocol(std::uint8_t protocol) const;
  /// What is left for it of what the middlebox can do (RFC 5189 2.1.8).
  Capabilities capabilities(const Capabilities& of) const;
  bool allows_source(const IpAddress& address) const;
  bool sees(std::string_view owner) const;
  bool changes(std::string_view owner) const;
  /// Sees rules that are not its own.
  bool sees_others() const { return !may_see.empty() || !may_change.empty(); }
};

/// The agents of a configuration. Immutable: a new configuration makes a new one.
class AgentDirectory {
 public:
  /// Everybody may do everything, and nobody need authenticate.
  static AgentDirectory open_to_all();

  /// Adds an agent; false where there is one of that name. A name of kAnonymousPrefix and a prefix
  /// speaks for all addresses in it that do not authenticate; "anonymous" alone for any.
  bool add(AgentPolicy agent);

  /// The policy for the owner name `name`, be it an authenticated agent's or anonymous@address.
  const AgentPolicy* find(std::string_view name) const;
  /// The policy for an agent at `address` that does not authenticate, by the longest prefix.
  const AgentPolicy* find_anonymous(const IpAddress& address) const;

  /// The policy for the agent that authenticates as `name`; nullptr where there is none.
  const AgentPolicy* find_named(std::string_view name) const;

  /// There are agents that authenticate with a secret.
  bool has_secrets() const { return has_secrets_; }
  /// There are agents that do not.
  bool accepts_anonymous() const { return !anonymous_.empty(); }

 private:
  struct Anonymous {
    std::optional<IpPrefix> prefix;  ///< nothing: any address
    AgentPolicy policy;
  };
  std::map<std::string, AgentPolicy, std::less<>> named_;
  std::vector<Anonymous> anonymous_;
  bool has_secrets_ = false;
};

/// The transaction that `request` is, where it is a policy rule request.
std::optional<Transaction> transaction_of(const Body& request);

}  // namespace simco::policy
