// Reads secrets and `[[agent]]` tables key by key. Each reader returns a complaint about a value,
// to which the file, the line and the key are added.
#include "middlebox/config/agents_file.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>

#include "middlebox/limits.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/text_file.hpp"
#include "simco/wire/limits.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::middlebox {
namespace {

using policy::AgentPolicy;
/// A complaint, or nothing.
using Fault = std::optional<std::string>;

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  return std::nullopt;
}

/// Reads an array of strings or integers, one by one, as text.
Fault each_of(const toml::node& node, const std::function<Fault(const std::string&)>& take) {
  const auto* list = node.as_array();
  if (list == nullptr) return "must be a list in brackets";
  for (const auto& item : *list) {
    std::string text;
    if (const auto* number = item.as_integer()) {
      text = std::to_string(number->get());
    } else if (const auto plain = text_of(item)) {
      text = *plain;
    } else {
      return "must contain only strings and numbers";
    }
    if (auto fault = take(text)) return fault;
  }
  return std::nullopt;
}

Fault read_flag(const toml::node& node, bool& flag) {
  if (const auto* value = node.as_boolean()) {
    flag = value->get();
    return std::nullopt;
  }
  return "must be true or false";
}

Fault read_limit(const toml::node& node, std::uint32_t& limit) {
  const auto* number = node.as_integer();
  if (number == nullptr || number->get() < 0 || number->get() > 0xFFFF'FFFF) {
    return "must be a number from 0 to 4294967295";
  }
  limit = static_cast<std::uint32_t>(number->get());
  return std::nullopt;
}

Fault add_prefix(const std::string& text, std::vector<IpPrefix>& prefixes) {
  const auto prefix = parse_prefix(text);
  if (!prefix) {
    return "expects ADDRESS or PREFIX/LENGTH, got '" + text +
           "' (a prefix must not have bits set beyond its length)";
  }
  prefixes.push_back(*prefix);
  return std::nullopt;
}

Fault read_prefixes(const toml::node& node, std::vector<IpPrefix>& prefixes) {
  return each_of(node, [&](const std::string& text) { return add_prefix(text, prefixes); });
}

/// The addresses that other machines know this one by: neither loopback nor link-local ones.
std::vector<IpPrefix> own_addresses() {
  std::vector<IpPrefix> result;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return result;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  for (const auto* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    std::array<char, NI_MAXHOST> text{};
    const auto family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(one->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST))
      continue;
    const auto address = parse_address(text.data());  // a link-local one ends with its interface
    if (!address || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    result.push_back(host_prefix(*address));
  }
  return result;
}

/// As read_prefixes(); "host" stands for own_addresses(), alone or in the list.
Fault read_internal(const toml::node& node, std::vector<IpPrefix>& prefixes) {
  const auto add = [&](const std::string& text) -> Fault {
    if (text != "host") return add_prefix(text, prefixes);
    const auto own = own_addresses();
    prefixes.insert(prefixes.end(), own.begin(), own.end());
    if (!own.empty()) return std::nullopt;
    return "has \"host\", and this machine has no address yet that other machines can reach";
  };
  return text_of(node) == "host" ? add("host") : each_of(node, add);
}

Fault read_ports(const toml::node& node, std::vector<PortRange>& ranges) {
  return each_of(node, [&](const std::string& text) -> Fault {
    const auto range = parse_port_range(text);
    if (!range) return "expects a port or LOW-HIGH, got '" + text + "'";
    ranges.push_back(*range);
    return std::nullopt;
  });
}

Fault read_protocols(const toml::node& node, AgentPolicy& agent) {
  agent.protocols.emplace();
  return each_of(node, [&](const std::string& text) -> Fault {
    const auto number = parse_protocol(text);
    if (!number) {
      return "expects a protocol number from 1 to 255, or tcp, udp, sctp, dccp, udplite, icmp, "
             "icmpv6, gre, esp or ah; got '" +
             text + "'";
    }
    agent.protocols->set(*number);
    return std::nullopt;
  });
}

Fault read_transactions(const toml::node& node, AgentPolicy& agent) {
  const auto& names = policy::kTransactionNames;
  agent.transactions.reset();
  return each_of(node, [&](const std::string& text) -> Fault {
    const auto name = std::ranges::find(names, text);
    if (name == names.end()) {
      return "expects PRR, PER, PEA, PDR, PLC, PRS or PRL, got '" + text + "'";
    }
    agent.transactions.set(static_cast<std::size_t>(name - names.begin()));
    return std::nullopt;
  });
}

Fault read_wildcards(const toml::node& node, AgentPolicy& agent) {
  const std::map<std::string, bool*> names = {{"internal", &agent.internal_wildcards},
                                              {"external", &agent.external_wildcards},
                                              {"port", &agent.port_wildcards},
                                              {"protocol", &agent.protocol_wildcards}};
  for (const auto& [name, flag] : names) *flag = false;
  return each_of(node, [&](const std::string& text) -> Fault {
    const auto name = names.find(text);
    if (name == names.end()) {
      return "expects internal, external, port or protocol, got '" + text + "'";
    }
    *name->second = true;
    return std::nullopt;
  });
}

Fault read_owners(const toml::node& node, std::vector<std::string>& owners) {
  return each_of(node, [&](const std::string& text) -> Fault {
    owners.push_back(text);
    return std::nullopt;
  });
}

Fault read_secret(const toml::node& node, std::string& secret) {
  const auto text = text_of(node);
  if (!text || text->empty()) return "must be a non-empty string";
  secret = *text;
  return std::nullopt;
}

/// The whole file but the end of its last line, relative to the configuration file's folder.
Fault read_secret_file(const toml::node& node, const std::string& config, std::string& secret) {
  const auto name = text_of(node);
  if (!name) return "must be a file name";
  const auto path = std::filesystem::path(config).parent_path() / *name;
  auto text = cli::read_text_file(path);
  if (!text) return fmt::format("names {}, which cannot be read: {}", path.string(), text.error());
  secret = std::move(*text);
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.empty()) return "names " + path.string() + ", which is empty";
  return std::nullopt;
}

Fault read_name(const toml::node& node, AgentPolicy& agent) {
  const auto name = text_of(node);
  if (!name || name->empty() || name->size() > kOwnerSizeMax ||
      name->find('\0') != std::string::npos) {
    return fmt::format("must be a string of 1 to {} bytes", kOwnerSizeMax);
  }
  agent.name = *name;
  if (!name->starts_with("anonymous") || *name == "anonymous") return std::nullopt;
  if (name->starts_with(policy::kAnonymousPrefix) &&
      parse_prefix(std::string_view(*name).substr(policy::kAnonymousPrefix.size()))) {
    return std::nullopt;
  }
  return "must be 'anonymous', 'anonymous@ADDRESS' or 'anonymous@PREFIX/LENGTH', got '" + *name +
         "'";
}

struct AgentKey {
  std::string_view name;
  /// `path`: of the configuration file.
  Fault (*read)(const toml::node& node, const std::string& path, AgentPolicy& agent);
};

/// Reads the key into the agent, or into one of its members.
template <auto Read>
Fault with(const toml::node& node, const std::string&, AgentPolicy& agent) {
  return Read(node, agent);
}
template <auto Read, auto Member>
Fault into(const toml::node& node, const std::string&, AgentPolicy& agent) {
  return Read(node, agent.*Member);
}

constexpr auto kAgentKeys = std::to_array<AgentKey>({
    {"name", with<read_name>},
    {"secret", into<read_secret, &AgentPolicy::secret>},
    {"secret-file", [](const toml::node& node, const std::string& path,
                       AgentPolicy& agent) { return read_secret_file(node, path, agent.secret); }},
    {"certificate", into<read_flag, &AgentPolicy::has_certificate>},
    {"sources", into<read_prefixes, &AgentPolicy::sources>},
    {"transactions", with<read_transactions>},
    {"internal", into<read_internal, &AgentPolicy::internal>},
    {"external", into<read_prefixes, &AgentPolicy::external>},
    {"protocols", with<read_protocols>},
    {"internal-ports", into<read_ports, &AgentPolicy::internal_ports>},
    {"external-ports", into<read_ports, &AgentPolicy::external_ports>},
    {"wildcards", with<read_wildcards>},
    {"extend", into<read_flag, &AgentPolicy::may_extend>},
    {"max-rules", into<read_limit, &AgentPolicy::rules_max>},
    {"max-elements", into<read_limit, &AgentPolicy::elements_max>},
    {"max-sessions", into<read_limit, &AgentPolicy::sessions_max>},
    {"max-lifetime", into<read_limit, &AgentPolicy::lifetime_max_s>},
    {"see", into<read_owners, &AgentPolicy::may_see>},
    {"change", into<read_owners, &AgentPolicy::may_change>},
});

Fault read_key(std::string_view key, const toml::node& node, const std::string& path,
               AgentPolicy& agent) {
  const auto found = std::ranges::find(kAgentKeys, key, &AgentKey::name);
  if (found != kAgentKeys.end()) return found->read(node, path, agent);
  std::vector<std::string> names;
  for (const auto& one : kAgentKeys) names.emplace_back(one.name);
  return "is not a valid key for an agent" + cli::did_you_mean(key, names);
}

/// Complaints about an agent as a whole.
Fault judge(const toml::table& table, const AgentPolicy& agent) {
  if (agent.name.empty()) return "agent without a name";
  if (table.contains("secret") && table.contains("secret-file")) {
    return "agent '" + agent.name + "' must not have both secret and secret-file";
  }
  const bool anonymous = agent.name.starts_with("anonymous");
  if (!anonymous && agent.secret.empty() && !agent.has_certificate) {
    return "agent '" + agent.name +
           "' needs a secret, a secret-file or certificate = true; an agent that does not "
           "authenticate must be named anonymous or anonymous@ADDRESS";
  }
  if (anonymous && (!agent.secret.empty() || agent.has_certificate)) {
    return "agent '" + agent.name +
           "' must not have a secret or certificate: anonymous agents do not "
           "authenticate";
  }
  return std::nullopt;
}

std::expected<AgentPolicy, std::string> read_agent(const toml::table& table,
                                                   const std::string& path) {
  AgentPolicy agent;
  for (const auto& [key, node] : table) {
    if (const auto fault = read_key(key.str(), node, path, agent)) {
      return std::unexpected(cli::at_line(path, node, fmt::format("'{}' {}", key.str(), *fault)));
    }
  }
  if (const auto fault = judge(table, agent))
    return std::unexpected(cli::at_line(path, table, *fault));
  return agent;
}

/// Adds the files with the secrets of `table`.
void add_secret_files(const toml::table& table, const std::string& path,
                      std::vector<std::string>& files) {
  if (table.contains("secret")) files.push_back(path);
  if (const auto name = table["secret-file"].value<std::string>()) {
    files.push_back((std::filesystem::path(path).parent_path() / *name).string());
  }
}

}  // namespace

bool is_agent_key(std::string_view key) {
  return std::ranges::find(kAgentKeys, key, &AgentKey::name) != kAgentKeys.end();
}

std::expected<Agents, std::string> read_agents(const toml::table& table, const std::string& path) {
  Agents agents;
  if (const auto* node = table.get("secret")) {
    if (const auto fault = read_secret(*node, agents.secret)) {
      return std::unexpected(cli::at_line(path, *node, "'secret' " + *fault));
    }
  }
  if (const auto* node = table.get("secret-file")) {
    if (!agents.secret.empty()) {
      return std::unexpected(
          cli::at_line(path, *node, "give either secret or secret-file, not both"));
    }
    if (const auto fault = read_secret_file(*node, path, agents.secret)) {
      return std::unexpected(cli::at_line(path, *node, "'secret-file' " + *fault));
    }
  }
  add_secret_files(table, path, agents.secret_files);
  const auto* node = table.get("agent");
  if (node == nullptr) return agents;
  const auto* list = node->as_array();
  if (list == nullptr || !list->is_array_of_tables()) {
    return std::unexpected(cli::at_line(path, *node, "agents must be written as [[agent]] tables"));
  }
  agents.directory = {};
  for (const auto& item : *list) {
    add_secret_files(*item.as_table(), path, agents.secret_files);
    auto agent = read_agent(*item.as_table(), path);
    if (!agent) return std::unexpected(agent.error());
    const auto name = agent->name;
    if (!agents.directory.add(std::move(*agent))) {
      return std::unexpected(cli::at_line(path, item, "agent '" + name + "' is already defined"));
    }
  }
  return agents;
}

}  // namespace simco::middlebox
