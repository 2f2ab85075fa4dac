// Matches requests against the prefixes, ports and protocols of an agent, and finds the policy of
// an agent by name or by the longest prefix of its address.
#include "middlebox/policy/authorization.hpp"

#include <algorithm>

#include "simco/wire/limits.hpp"

namespace simco::policy {
namespace {

bool names(const std::vector<std::string>& owners, std::string_view owner) {
  return std::ranges::any_of(owners, [&](const auto& one) { return one == "*" || one == owner; });
}

}  // namespace

bool within(const std::vector<IpPrefix>& allowed, const AddressTuple& tuple) {
  if (allowed.empty()) return true;
  const auto wanted = prefix_of(tuple);
  return std::ranges::any_of(allowed, [&](const auto& prefix) { return contains(prefix, wanted); });
}

bool within(const std::vector<PortRange>& allowed, const AddressTuple& tuple) {
  if (allowed.empty()) return true;
  unsigned first = 0;
  unsigned last = 65535;
  if (has_ports(tuple)) {
    first = tuple.port;
    last = first + std::max<unsigned>(tuple.port_range, 1) - 1;
  }
  return std::ranges::any_of(
      allowed, [&](const auto& range) { return range.first <= first && last <= range.last; });
}

bool AgentPolicy::allows(const AddressTuple& internal_tuple,
                         const AddressTuple& external_tuple) const {
  const bool addresses = within(internal, internal_tuple) && within(external, external_tuple);
  const bool ports =
      within(internal_ports, internal_tuple) && within(external_ports, external_tuple);
  // The tuples may not have been checked to agree yet: each must be allowed by itself.
  return addresses && ports && allows_protocol(internal_tuple.protocol) &&
         allows_protocol(external_tuple.protocol);
}

bool AgentPolicy::allows_protocol(std::uint8_t protocol) const {
  if (protocol == kProtocolAny) return !protocols;
  return !protocols || (*protocols)[protocol];
}

Capabilities AgentPolicy::capabilities(const Capabilities& of) const {
  Capabilities result = of;
  result.disable_rules = of.disable_rules && allows(Transaction::kPdr);
  result.internal_wildcards = of.internal_wildcards && internal_wildcards;
  result.external_wildcards = of.external_wildcards && external_wildcards;
  result.port_wildcards = of.port_wildcards && port_wildcards;
  result.lifetime_max_s = std::min(of.lifetime_max_s, lifetime_max_s);
  return result;
}

bool AgentPolicy::allows_source(const IpAddress& address) const {
  return sources.empty() || std::ranges::any_of(sources, [&](const auto& prefix) {
           return contains(prefix, host_prefix(address));
         });
}

bool AgentPolicy::sees(std::string_view owner) const {
  return names(may_see, owner) || changes(owner);
}

bool AgentPolicy::changes(std::string_view owner) const { return names(may_change, owner); }

AgentDirectory AgentDirectory::open_to_all() {
  AgentDirectory directory;
  AgentPolicy anonymous;
  anonymous.name = "anonymous";
  directory.add(std::move(anonymous));
  return directory;
}

bool AgentDirectory::add(AgentPolicy agent) {
  const bool any = agent.name == "anonymous";
  if (!any && !agent.name.starts_with(kAnonymousPrefix)) {
    has_secrets_ |= !agent.secret.empty();
    return named_.try_emplace(agent.name, agent).second;
  }
  std::optional<IpPrefix> prefix;
  if (!any) {
    prefix = parse_prefix(std::string_view(agent.name).substr(kAnonymousPrefix.size()));
    if (!prefix) return false;
  }
  for (const auto& other : anonymous_) {
    if (other.prefix == prefix) return false;
  }
  anonymous_.push_back({prefix, std::move(agent)});
  return true;
}

const AgentPolicy* AgentDirectory::find(std::string_view name) const {
  if (name.starts_with(kAnonymousPrefix)) {
    const auto text = name.substr(kAnonymousPrefix.size());
    const auto address = parse_address(text.substr(0, text.find('%')));  // without the zone
    return address ? find_anonymous(*address) : nullptr;
  }
  return find_named(name);
}

const AgentPolicy* AgentDirectory::find_named(std::string_view name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : &found->second;
}

const AgentPolicy* AgentDirectory::find_anonymous(const IpAddress& address) const {
  const Anonymous* best = nullptr;
  const auto rank = [](const Anonymous& one) { return one.prefix ? one.prefix->length : -1; };
  for (const auto& one : anonymous_) {
    if (one.prefix && !contains(*one.prefix, host_prefix(address))) continue;
    if (best == nullptr || rank(one) > rank(*best)) best = &one;
  }
  return best == nullptr ? nullptr : &best->policy;
}

std::optional<Transaction> transaction_of(const Body& request) {
  if (std::holds_alternative<PrrRequest>(request)) return Transaction::kPrr;
  if (std::holds_alternative<PerRequest>(request)) return Transaction::kPer;
  if (std::holds_alternative<PeaRequest>(request)) return Transaction::kPea;
  if (std::holds_alternative<PdrRequest>(request)) return Transaction::kPdr;
  if (std::holds_alternative<PlcRequest>(request)) return Transaction::kPlc;
  if (std::holds_alternative<PrsRequest>(request)) return Transaction::kPrs;
  if (std::holds_alternative<PrlRequest>(request)) return Transaction::kPrl;
  return std::nullopt;
}

AgentId AgentTable::acquire(std::string_view name) {
  SIMCO_ASSERT(name.size() <= kOwnerSizeMax);
  const auto [entry, is_new] = by_name_.try_emplace(std::string(name));
  if (is_new) {
    if (free_.empty()) {
      free_.push_back(AgentId{static_cast<std::uint32_t>(agents_.size())});
      agents_.emplace_back();
    }
    entry->second = free_.back();
    free_.pop_back();
    agents_[entry->second.value] = Agent{.name = entry->first, .rules = {}};
    resolve(entry->second);
  }
  hold(entry->second);
  return entry->second;
}

void AgentTable::release(AgentId id) {
  Agent& agent = agents_[id.value];
  SIMCO_ASSERT(agent.holds > 0);
  if (--agent.holds != 0) return;
  std::erase(watchers_, id);
  by_name_.erase(by_name_.find(std::string(agent.name)));
  free_.push_back(id);
}

void AgentTable::apply(const AgentDirectory& directory) {
  directory_ = &directory;
  watchers_.clear();
  for (const auto& [name, id] : by_name_) resolve(id);
}

void AgentTable::resolve(AgentId id) {
  Agent& agent = agents_[id.value];
  agent.policy = directory_ == nullptr ? nullptr : directory_->find(agent.name);
  if (agent.policy != nullptr && agent.policy->sees_others()) watchers_.push_back(id);
}

}  // namespace simco::policy
