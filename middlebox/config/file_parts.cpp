// Reads `[[agent]]` and `[[listener]]` tables key by key. Each reader returns a complaint about a
// value, to which the file, the line and the key are added.
#include "middlebox/config/file_parts.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "middlebox/limits.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/text_file.hpp"
#include "simco/net/transport_type.hpp"
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

const std::vector<std::string>& agent_keys() {
  static const std::vector<std::string> keys = {
      "name",           "secret",       "secret-file", "certificate", "sources",
      "transactions",   "internal",     "external",    "protocols",   "internal-ports",
      "external-ports", "wildcards",    "extend",      "max-rules",   "max-elements",
      "max-sessions",   "max-lifetime", "see",         "change"};
  return keys;
}

Fault read_key(std::string_view key, const toml::node& node, const std::string& path,
               AgentPolicy& agent) {
  if (key == "name") return read_name(node, agent);
  if (key == "secret") return read_secret(node, agent.secret);
  if (key == "secret-file") return read_secret_file(node, path, agent.secret);
  if (key == "certificate") return read_flag(node, agent.has_certificate);
  if (key == "sources") return read_prefixes(node, agent.sources);
  if (key == "transactions") return read_transactions(node, agent);
  if (key == "internal") return read_internal(node, agent.internal);
  if (key == "external") return read_prefixes(node, agent.external);
  if (key == "protocols") return read_protocols(node, agent);
  if (key == "internal-ports") return read_ports(node, agent.internal_ports);
  if (key == "external-ports") return read_ports(node, agent.external_ports);
  if (key == "wildcards") return read_wildcards(node, agent);
  if (key == "extend") return read_flag(node, agent.may_extend);
  if (key == "max-rules") return read_limit(node, agent.rules_max);
  if (key == "max-elements") return read_limit(node, agent.elements_max);
  if (key == "max-sessions") return read_limit(node, agent.sessions_max);
  if (key == "max-lifetime") return read_limit(node, agent.lifetime_max_s);
  if (key == "see") return read_owners(node, agent.may_see);
  if (key == "change") return read_owners(node, agent.may_change);
  return "is not a valid key for an agent" + cli::did_you_mean(key, agent_keys());
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

std::string at(const std::string& path, const toml::node& node, const std::string& what) {
  return fmt::format("{}:{}: {}", path, node.source().begin.line, what);
}

std::expected<AgentPolicy, std::string> read_agent(const toml::table& table,
                                                   const std::string& path) {
  AgentPolicy agent;
  for (const auto& [key, node] : table) {
    if (const auto fault = read_key(key.str(), node, path, agent)) {
      return std::unexpected(at(path, node, fmt::format("'{}' {}", key.str(), *fault)));
    }
  }
  if (const auto fault = judge(table, agent)) return std::unexpected(at(path, table, *fault));
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
  return std::ranges::find(agent_keys(), key) != agent_keys().end();
}

std::expected<Agents, std::string> read_agents(const toml::table& table, const std::string& path) {
  Agents agents;
  if (const auto* node = table.get("secret")) {
    if (const auto fault = read_secret(*node, agents.secret)) {
      return std::unexpected(at(path, *node, "'secret' " + *fault));
    }
  }
  if (const auto* node = table.get("secret-file")) {
    if (!agents.secret.empty()) {
      return std::unexpected(at(path, *node, "give either secret or secret-file, not both"));
    }
    if (const auto fault = read_secret_file(*node, path, agents.secret)) {
      return std::unexpected(at(path, *node, "'secret-file' " + *fault));
    }
  }
  add_secret_files(table, path, agents.secret_files);
  const auto* node = table.get("agent");
  if (node == nullptr) return agents;
  const auto* list = node->as_array();
  if (list == nullptr || !list->is_array_of_tables()) {
    return std::unexpected(at(path, *node, "agents must be written as [[agent]] tables"));
  }
  agents.directory = {};
  for (const auto& item : *list) {
    add_secret_files(*item.as_table(), path, agents.secret_files);
    auto agent = read_agent(*item.as_table(), path);
    if (!agent) return std::unexpected(agent.error());
    const auto name = agent->name;
    if (!agents.directory.add(std::move(*agent))) {
      return std::unexpected(at(path, item, "agent '" + name + "' is already defined"));
    }
  }
  return agents;
}

namespace {

/// A text, or a list of texts.
std::optional<std::vector<std::string>> texts_of(const toml::node& node) {
  if (const auto* text = node.as_string()) return std::vector{text->get()};
  const auto* list = node.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::vector<std::string> result;
  for (const auto& item : *list) {
    const auto* text = item.as_string();
    if (text == nullptr) return std::nullopt;
    result.push_back(text->get());
  }
  return result;
}

Fault read_transport(const toml::node& node, net::ListenOptions& listen) {
  const auto texts = texts_of(node);
  const auto fault = Fault("must be \"" + net::transport_names("\", \"") + "\" or a list of these");
  if (!texts) return fault;
  listen.transports.clear();
  for (const auto& text : *texts) {
    const auto transport = net::find_transport(text);
    if (!transport) return fault;
    listen.transports.push_back(*transport);
  }
  return std::nullopt;
}

Fault read_key(std::string_view key, const toml::node& node, ListenerSettings& settings) {
  if (key == "transport") return read_transport(node, settings.listen);
  if (key == "listen") {
    const auto texts = texts_of(node);
    if (!texts) return "must be an address or a list of addresses";
    settings.listen.addresses = *texts;
    return std::nullopt;
  }
  if (key == "port") {
    const auto port = node.value<std::int64_t>().value_or(-1);
    if (port < 0 || port > std::numeric_limits<std::uint16_t>::max()) {
      return "must be a number from 0 to 65535";
    }
    settings.listen.port = static_cast<std::uint16_t>(port);
    return std::nullopt;
  }
  if (key == "require") {
    const auto text = node.value<std::string>().value_or("");
    for (const auto& [name, require] : require_values()) {
      if (text != name) continue;
      settings.require = require;
      return std::nullopt;
    }
    return "must be \"none\", \"sa\" or \"tls\"";
  }
  return "is not a valid key for a listener";
}

}  // namespace

std::vector<std::pair<std::string, Require>> require_values() {
  return {{"none", Require::kNone}, {"sa", Require::kSa}, {"tls", Require::kTls}};
}

std::expected<std::vector<ListenerSettings>, std::string> read_listeners(
    const toml::table& table, const std::string& path, const ListenerSettings& like) {
  std::vector<ListenerSettings> result;
  const auto* node = table.get("listener");
  if (node == nullptr) return result;
  const auto wrong = [&](const toml::node& where, const std::string& what) {
    return std::unexpected(at(path, where, what));
  };
  const auto* list = node->as_array();
  if (list == nullptr) return wrong(*node, "listeners must be written as [[listener]] tables");
  for (const auto& item : *list) {
    const auto* one = item.as_table();
    if (one == nullptr) return wrong(item, "listeners must be written as [[listener]] tables");
    auto& settings = result.emplace_back(like);
    for (const auto& [key, value] : *one) {
      if (const auto fault = read_key(key.str(), value, settings)) {
        return wrong(value, fmt::format("'{}' {}", key.str(), *fault));
      }
    }
  }
  return result;
}

}  // namespace simco::middlebox
