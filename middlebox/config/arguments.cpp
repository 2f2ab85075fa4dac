// Declares the options of simco-middlebox, with their help texts and the ranges of their values.
#include "middlebox/config/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "middlebox/config/listeners_file.hpp"
#include "middlebox/policy/limits.hpp"
#include "middlebox/store/store.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::middlebox {
namespace {

using policy::AddressRange;

/// How far `last` is behind `first`; at most kPoolAddressesMax, which is too far.
std::uint32_t distance(const IpAddress& first, const IpAddress& last) {
  std::uint32_t steps = 0;
  while (steps < policy::kPoolAddressesMax && policy::advance(first, steps) != last) ++steps;
  return steps;
}

std::expected<AddressRange, std::string> parse_range(const std::string& word) {
  const auto dash = word.find('-');
  if (dash != std::string::npos) {
    const auto first = parse_address(std::string_view(word).substr(0, dash));
    const auto last = parse_address(std::string_view(word).substr(dash + 1));
    if (!first || !last || first->version != last->version || *last < *first) {
      return std::unexpected("expected ADDRESS-ADDRESS in ascending order, got '" + word + "'");
    }
    return AddressRange{*first, distance(*first, *last) + 1};
  }
  const auto prefix = parse_prefix(word);
  if (!prefix) {
    return std::unexpected("expected ADDRESS, ADDRESS-ADDRESS or PREFIX/LENGTH, got '" + word +
                           "'");
  }
  const unsigned host_bits = address_bits(prefix->address.version) - prefix->length;
  return AddressRange{prefix->address, host_bits > 16 ? 65'536U : 1U << host_bits};
}

bool overlap(const AddressRange& a, const AddressRange& b) {
  return a.first <= policy::advance(b.first, b.count - 1) &&
         b.first <= policy::advance(a.first, a.count - 1);
}

}  // namespace

std::expected<std::vector<AddressRange>, std::string> parse_pool(
    const std::vector<std::string>& words) {
  std::vector<AddressRange> pool;
  std::uint32_t addresses = 0;
  for (const auto& word : words) {
    const auto range = parse_range(word);
    if (!range) return std::unexpected(range.error());
    if (std::ranges::any_of(pool, [&](const auto& other) { return overlap(other, *range); })) {
      return std::unexpected("'" + word + "' overlaps another part of the pool");
    }
    pool.push_back(*range);
    addresses += range->count;
    if (addresses > policy::kPoolAddressesMax) {
      return std::unexpected("'" + word + "' makes the pool larger than " +
                             std::to_string(policy::kPoolAddressesMax) + " addresses");
    }
  }
  return pool;
}

bool parse_port_pool(std::string_view text, policy::NatTable::Options& nat) {
  const auto range = parse_port_range(text, 1);
  if (!range || !text.contains('-')) return false;
  nat.first_port = range->first;
  nat.last_port = range->last;
  return true;
}

namespace {

constexpr std::uint64_t kMost = 0xFFFF'FFFF;  ///< of rules, elements and sessions

std::vector<std::string> names_of(BackendTable backends) {
  std::vector<std::string> result;
  for (const auto& row : backends) result.emplace_back(row.name);
  return result;
}

/// A text that `read` makes something of, and that is kept as it is.
template <class Read>
auto if_read(Read read) {
  return [read](const std::string& text) -> std::expected<std::string, std::string> {
    if (text.empty()) return text;
    const auto value = read(text);
    return value ? std::expected<std::string, std::string>(text) : std::unexpected(value.error());
  };
}

void declare_rules(cli::Options& options, Arguments& arguments) {
  auto& nat = arguments.settings.server.nat;
  options.group("Enforcement");
  options.choice("--backend", arguments.backend, "What enforces the rules",
                 names_of(arguments.backends));
  options.text("--internal-if", arguments.settings.internal_if,
               "Interface towards the internal network");
  options.text("--external-if", arguments.settings.external_if,
               "Interface towards the external network");
  for (const auto& type : arguments.types) type->declare(options);
  options.group("Firewall and NAT");
  options.choice("--mode", nat.mode, "Type of middlebox: firewall, traditional NAT or twice NAT",
                 {{"firewall", policy::Mode::kFirewall},
                  {"nat", policy::Mode::kTraditionalNat},
                  {"twice-nat", policy::Mode::kTwiceNat}});
  options.parsed_list(
      "--outside", nat.outside,
      "Outside address pool of a NAT: ADDR, ADDR-ADDR or PREFIX/LEN, comma-separated", parse_pool);
  options.parsed_list("--inside", nat.inside, "Inside address pool of a twice NAT", parse_pool);
  options.add({.name = "--ports",
               .help = "Ports of the pools, LOW-HIGH",
               .default_text = fmt::format("{}-{}", nat.first_port, nat.last_port),
               .set = [&nat](const cli::Words& words) {
                 return parse_port_pool(words.front(), nat)
                            ? std::nullopt
                            : cli::Fault("expected LOW-HIGH, got '" + words.front() + "'");
               }});
  options.choice("--address-pooling", nat.paired,
                 "paired (RFC 4787: one outside address per internal host) or arbitrary",
                 {{"paired", true}, {"arbitrary", false}});
}

void declare_limits(cli::Options& options, ServerOptions& server) {
  options.group("Limits");
  options.whole("--max-lifetime", server.lifetime_max_s,
                "Maximum lifetime granted to a rule, seconds", 1);
  options.whole("--max-rules", server.rules_max, "Maximum number of policy rules", 0, kMost);
  options.whole(
      "--max-elements", server.elements_max,
      "Maximum number of kernel elements for all rules together: one per port of a rule (one for "
      "more than 1,024 ports); with NAT, three",
      0, kMost);
  options.whole("--max-sessions", server.sessions_max, "Maximum number of open sessions", 0, kMost);
  options.seconds("--message-timeout", server.message_timeout,
                  "Maximum silence within a message and before a session is open, seconds", 0.01,
                  86'400.0);
}

void declare_operation(cli::Options& options, Arguments& arguments) {
  auto& settings = arguments.settings;
  const auto address = if_read([](const auto& text) { return net::parse_address_port(text); });
  options.group("Configuration and log");
  options
      .text("--config", arguments.config,
            "TOML file: long option names as keys, and the agents; reread on SIGHUP")
      .only_on_command_line = true;
  options.whole(
      "--audit-rate", settings.server.audit_rate,
      "Maximum number of rule changes to log per second, excess ones are only counted; 0: log none",
      0, kMost);
  options.parsed(
      "--state", settings.state,
      "Where to store rules so that they survive a restart: " + store::store_forms(),
      if_read([](const auto& text) { return store::make_store(text, store::Sync::kDisk); }));
  options.choice(
      "--state-sync", settings.state_on_disk,
      "State file: when a rule counts as stored and its reply may be sent: disk (survives a power "
      "failure) or system (survives a crash of the process)",
      {{"disk", true}, {"system", false}});
  options.parsed("--metrics", settings.metrics,
                 "ADDRESS:PORT to serve Prometheus metrics on, at /metrics", address);
  options.parsed(
      "--inspect", settings.inspect,
      "ADDRESS:PORT to tell the operator at what rules have counted (--counters), by HTTP",
      address);
  options
      .flag("--check", settings.check_only,
            "Check the options and the configuration file, then exit")
      .only_on_command_line = true;
  options.flag("--remove-rules", settings.remove_rules,
               "Remove from the kernel what an earlier run with these options has left, then exit");
  options.choice("--log-level", settings.log_level, "Lowest level to log",
                 {"trace", "debug", "info", "warn", "error", "off"});
  options
      .text("--check-user", arguments.check_user,
            "With --check as root: check as this user (default: User= of the service)")
      .only_on_command_line = true;
}

}  // namespace

void declare(cli::Options& options, Arguments& arguments) {
  auto& server = arguments.settings.server;
  arguments.transport.declare_listener(options, server.listen);
  options.choice("--require", server.require,
                 "Security that a session requires, refused with 0x0326 otherwise: none (as "
                 "configured for each agent), sa (authentication by SA or TLS) or tls",
                 require_values());
  options.flag("--allow-anonymous", arguments.allow_anonymous,
               "Listen on non-loopback addresses even if agents need not authenticate");
  declare_rules(options, arguments);
  declare_limits(options, server);
  declare_operation(options, arguments);
}

}  // namespace simco::middlebox
