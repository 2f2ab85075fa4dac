// The options of the nftables backend: its table, and what of it outlives the process.
#include "middlebox/config/backends/nftables_type.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/backend/fastpath/fast_path.hpp"
#include "middlebox/backend/nftables/nftables_backend.hpp"
#include "middlebox/config/options.hpp"
#include "middlebox/limits.hpp"
#include "simco/cli/options.hpp"
#include "simco/log/log.hpp"

namespace simco::middlebox {
namespace {

using backend::nftables::Tracking;
namespace fastpath = backend::fastpath;

bool begins_with_zero(const char* path) {
  std::ifstream file(path);
  return file.get() == '0';
}

/// Returns whether any interface has an IPv6 address beyond its own link.
bool has_ipv6() {
  std::ifstream file("/proc/net/if_inet6");
  std::string address, index, length, scope, flags, name;
  while (file >> address >> index >> length >> scope >> flags >> name) {
    if (scope == "00") return true;
  }
  return false;
}

/// Returns what the kernel does not forward, a common mistake. Without IPv6 addresses, it need not
/// forward IPv6.
std::vector<std::string> missing_forwarding() {
  std::vector<std::string> result;
  if (begins_with_zero("/proc/sys/net/ipv4/ip_forward")) {
    result.emplace_back("the kernel forwards no IPv4 packets: sysctl net.ipv4.ip_forward=1");
  }
  if (begins_with_zero("/proc/sys/net/ipv6/conf/all/forwarding") && has_ipv6()) {
    result.emplace_back(
        "the kernel forwards no IPv6 packets: sysctl net.ipv6.conf.all.forwarding=1");
  }
  return result;
}

/// Returns a warning for each port of the middlebox's own that is guarded.
std::vector<std::string> own_ports(const backend::nftables::Options& options,
                                   const ServerOptions& server) {
  std::vector<net::ListenOptions> listened{server.listen};
  for (const auto& further : server.further_listeners) listened.push_back(further.listen);
  std::vector<std::string> result;
  for (const auto& listen : listened) {
    const bool open = std::ranges::any_of(listen.addresses, [](const auto& text) {
      boost::system::error_code error;
      return !boost::asio::ip::make_address(text, error).is_loopback();
    });
    const auto covers = [&](const auto& guard) {
      return listen.port >= guard.ports.first && listen.port <= guard.ports.last;
    };
    if (open && std::ranges::any_of(options.guards, covers)) {
      result.push_back(
          "--guard: port " + std::to_string(listen.port) +
          " is the middlebox's own, which agents on other machines will not reach: leave it out");
    }
  }
  return result;
}

/// Adds what of this machine would keep rules from having the effect that agents expect.
std::vector<std::string> obstacles(const backend::nftables::Options& options,
                                   std::vector<std::string> result) {
  if (forwards(options)) std::ranges::move(missing_forwarding(), std::back_inserter(result));
  if (auto ports = backend::nftables::ephemeral_ports_in(options.guards))
    result.push_back(std::move(*ports));
  return result;
}

std::expected<std::string, std::string> read_table_name(const std::string& text) {
  const bool plain = !text.empty() && text.size() <= kTableNameMax &&
                     text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
                         "STUVWXYZ0123456789_-") == std::string::npos;
  if (plain) return text;
  return std::unexpected("expected a name of letters, digits, - and _, got '" + text + "'");
}

}  // namespace

void NftablesType::declare(cli::Options& options) {
  options.group("Enforcement by nftables");
  options.parsed("--table", options_.table, "Name of the table (family inet)", read_table_name)
      .default_text = options_.table;
  options.choice("--table-mode", options_.own_table,
                 "own (the middlebox has a table of its own) or shared (it uses the site's "
                 "table, whose chains jump to simco-forward; with a NAT, to simco-prerouting and "
                 "simco-postrouting; with --guard, to simco-input and simco-output)",
                 {{"own", true}, {"shared", false}});
  options.choice("--claim-table", options_.claim_table,
                 "auto (from Linux 6.9 on, prevent other programs from changing or "
                 "flushing the middlebox's own table while it runs) or no (allow it, and repair "
                 "the table afterwards)",
                 {{"auto", true}, {"no", false}});
  options.choice(
      "--tracking", options_.tracking,
      "Firewall: all (connection tracking follows every packet), needed (only if the "
      "site's rules want it, or rules about TCP in one direction; nft cannot load a "
      "saved ruleset then) or notrack (besides, never UDP)",
      {{"all", Tracking::kAll}, {"needed", Tracking::kNeeded}, {"notrack", Tracking::kNotrack}});
  options.flag("--allow-outbound", options_.allow_outbound,
               "Let flows from internal to external pass without rules, with their replies");
  options.parsed_list("--guard", options_.guards,
                      "Ports of this machine itself that packets from other machines need a rule "
                      "for: PROTOCOL:PORT or PROTOCOL:LOW-HIGH, comma-separated",
                      backend::nftables::parse_guards);
  options.flag("--guard-anyway", options_.guard_anyway,
               "Guard ports even if that cuts an open connection of somebody who is logged in");
  options.flag("--counters", options_.counters,
               "Count the packets and bytes that each rule lets pass or blocks; --inspect tells");
  options_.keep_on_stop = true;  // a restart must not open what was closed
  options.flag(
      "--keep-rules", options_.keep_on_stop,
      "nftables: an orderly stop leaves the table in the kernel, so that a restart has no gap: "
      "rules stay in force until they expire, all other traffic stays blocked (default; "
      "--keep-rules=false turns it off)");
  options.choice("--fast-path", fast_path_,
                 "xdp (an XDP program on both interfaces forwards UDP and UDP-Lite of rules "
                 "between two endpoints, unseen by the site's nftables, tcpdump and connection "
                 "tracking) or none",
                 {{"none", false}, {"xdp", true}});
  options.whole("--fast-path-entries", fast_path_entries_,
                "Room of the fast path for each IP version: ports of rules, twice as many with a "
                "NAT",
                1, fastpath::kEntriesMax);
}

std::optional<std::string> NftablesType::check(bool chosen, const Settings& settings) {
  if (!chosen) {
    if (options_.counters) return "--counters requires --backend nftables";
    if (!options_.guards.empty()) return "--guard requires --backend nftables";
    return fast_path_fault(chosen);
  }
  own_ports_ = own_ports(options_, settings.server);
  options_.internal_if = settings.internal_if;
  options_.external_if = settings.external_if;
  if (auto fault = interfaces_fault(settings)) return fault;
  if (auto fault = tracking_fault(settings.server.nat.mode != policy::Mode::kFirewall))
    return fault;
  return fast_path_fault(chosen);
}

std::optional<std::string> NftablesType::interfaces_fault(const Settings& settings) const {
  if (forwards(options_)) return std::nullopt;
  const std::string option = "requires --internal-if NAME and --external-if NAME";
  if (options_.guards.empty())
    return "--backend nftables " + option + ", or --guard PORTS to protect this machine alone";
  if (settings.server.nat.mode != policy::Mode::kFirewall) return "--mode nat " + option;
  if (options_.allow_outbound) return "--allow-outbound " + option;
  if (fast_path_) return "--fast-path xdp " + option;
  return std::nullopt;
}

std::optional<std::string> NftablesType::tracking_fault(bool nat) const {
  if (options_.tracking == Tracking::kAll) return {};
  const bool notrack = options_.tracking == Tracking::kNotrack;
  const std::string option = notrack ? "--tracking notrack" : "--tracking needed";
  if (nat) return option + ": a NAT needs connection tracking for all packets";
  if (options_.allow_outbound) {
    return option + ": --allow-outbound needs connection tracking for all packets";
  }
  if (notrack && !options_.own_table)
    return "--tracking notrack requires --table-mode own: what is tracked is the site's to say";
  return {};
}

std::optional<std::string> NftablesType::fast_path_fault(bool chosen) const {
  if (!fast_path_) return std::nullopt;
  if (!chosen) return "--fast-path xdp requires --backend nftables";
  if (!fastpath::is_built_in())
    return "--fast-path xdp: this build has none, since clang, bpftool or libbpf was missing";
  if (!options_.own_table)
    return "--fast-path xdp requires --table-mode own: the site's chains would not see its packets";
  return std::nullopt;
}

std::vector<Finding> NftablesType::findings() const {
  std::vector<Finding> result;
  for (const auto& sentence : obstacles(options_, own_ports_)) result.push_back({false, sentence});
  if (!fast_path_) return result;
  if (const auto why = fastpath::obstacle(options_.internal_if, options_.external_if)) {
    result.push_back({false, "the fast path would be off: " + *why});
  }
  return result;
}

std::unique_ptr<backend::Backend> NftablesType::make(boost::asio::io_context& io,
                                                     const Settings& settings) const {
  const auto& nat = settings.server.nat;
  auto options = options_;
  options.nat = nat.mode != policy::Mode::kFirewall;
  const auto pool_of = [](const policy::AddressRange& range) {
    return backend::nftables::Pool{range.first, policy::advance(range.first, range.count - 1)};
  };
  for (const auto& range : nat.outside) options.outside_pool.push_back(pool_of(range));
  for (const auto& range : nat.inside) options.inside_pool.push_back(pool_of(range));
  options.first_port = nat.first_port;
  options.last_port = nat.last_port;
  auto backend = std::make_unique<backend::nftables::NftablesBackend>(io, options);
  for (const auto& sentence : obstacles(options, own_ports_)) log::warn(sentence);
  if (forwards(options)) {
    log::info("backend nftables: table inet {}, internal {}, external {}", options.table,
              options.internal_if, options.external_if);
  }
  if (!options.guards.empty()) {
    log::info("backend nftables: table inet {} guards {}", options.table,
              backend::nftables::guard_text(options.guards));
  }
  if (!fast_path_ || settings.remove_rules) return backend;
  return fastpath::accelerate(
      io, std::move(backend),
      {options_.internal_if, options_.external_if, fast_path_entries_, options_.now});
}

}  // namespace simco::middlebox
