// The command line sets options first, then the file those that are left; what takes several
// options is checked and set at the end.
#include "middlebox/config/options.hpp"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>

#include "middlebox/config/agents_file.hpp"
#include "middlebox/config/arguments.hpp"
#include "middlebox/config/listeners_file.hpp"
#include "middlebox/store/store.hpp"
#include "simco/cli/config_file.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::middlebox {
namespace {

constexpr const char* kExamples =
    "  simco-middlebox\n"
    "      for trials: no authentication, loopback only, enforces nothing\n"
    "  simco-middlebox --backend nftables --internal-if lan0 --external-if wan0\n"
    "      a firewall between two interfaces (root, or CAP_NET_ADMIN)\n"
    "  simco-middlebox --config /etc/simco/middlebox.toml --check\n"
    "      what is wrong with a configuration, see simco-middlebox.toml(5)";

/// The parts of a configuration file that are not options.
struct FileParts {
  Agents agents;
  toml::table table;
};

/// Returns where a key belongs that is not at its place at the top of the file.
std::optional<std::string> misplaced(const std::string& name) {
  if (!is_agent_key(name)) return std::nullopt;
  return fmt::format("'{}' belongs below an [[agent]] line, with the agent's name", name);
}

/// Sets each option of the file that is not on the command line, and reads the rest.
std::optional<std::string> read_file(const std::string& path, cli::Options& options,
                                     FileParts& parts) {
  auto file = cli::read_config_file(path, options,
                                    {{"agent", "listener", "secret", "secret-file"}, misplaced});
  if (!file) return file.error();
  auto read = read_agents(*file, path);
  if (!read) return read.error();
  parts.agents = std::move(*read);
  parts.table = std::move(*file);
  return std::nullopt;
}

bool goes_over_tls(net::Transport transport) { return net::type_of(transport).tls; }

std::optional<std::string> judge_listener(const Arguments& arguments, net::ListenOptions& listen,
                                          Require require) {
  const bool tls = listen.tls && std::ranges::any_of(listen.transports, goes_over_tls);
  if (require == Require::kTls && !tls) {
    return "--require tls requires --transport " +
           net::transport_names(" or ", &net::TransportType::tls) +
           ", --tls-certificate, --tls-key and --tls-ca: otherwise no agent could open a session";
  }
  if (auto fault = net::fault_in_use(listen.transports, listen.settings, listen.tls.get())) {
    return fault;
  }
  for (auto& address : listen.addresses) {
    auto parsed = net::parse_listen_address(address);
    if (!parsed) return "--listen: " + parsed.error();
    address = std::move(*parsed);
    const auto ip = boost::asio::ip::make_address(address);
    const bool anonymous =
        require == Require::kNone && arguments.settings.server.directory.accepts_anonymous();
    if (!ip.is_loopback() && anonymous && !arguments.allow_anonymous) {
      return "--listen: " + address +
             " is reachable from other hosts and agents need not authenticate: configure agents "
             "with secrets, use --require sa or --require tls, listen on a loopback address, or "
             "confirm with --allow-anonymous";
    }
  }
  return std::nullopt;
}

/// Sets all listeners, including those of the file.
std::optional<std::string> set_listeners(Arguments& arguments, const FileParts& parts) {
  auto& server = arguments.settings.server;
  if (const auto error = judge_listener(arguments, server.listen, server.require)) return error;
  auto further = read_listeners(parts.table, arguments.config, {server.listen, server.require});
  if (!further) return further.error();
  server.further_listeners = std::move(*further);
  for (auto& [listen, require] : server.further_listeners) {
    if (const auto error = judge_listener(arguments, listen, require)) {
      return arguments.config + ": [[listener]]: " + *error;
    }
  }
  return std::nullopt;
}

/// Checks whether the options about NAT go together.
std::optional<std::string> judge_nat(const policy::NatTable::Options& nat) {
  const bool translates = nat.mode != policy::Mode::kFirewall;
  const bool twice = nat.mode == policy::Mode::kTwiceNat;
  if (translates && nat.outside.empty()) {
    return fmt::format("--mode {} requires --outside ADDRESSES", twice ? "twice-nat" : "nat");
  }
  if (twice && nat.inside.empty()) return "--mode twice-nat requires --inside ADDRESSES";
  if (!translates && !nat.outside.empty()) return "--outside requires --mode nat or twice-nat";
  if (!twice && !nat.inside.empty()) return "--inside requires --mode twice-nat";
  if (translates && policy::NatTable(nat).versions() == 0) {
    return "--outside and --inside must have an IP version in common";
  }
  return std::nullopt;
}

/// Checks the interfaces, which several backends may have.
std::optional<std::string> judge_interfaces(const Settings& settings, BackendTable backends,
                                            const BackendRow& chosen) {
  const auto& internal = settings.internal_if;
  const auto& external = settings.external_if;
  if (!chosen.has_interfaces) {
    if (internal.empty() && external.empty()) return std::nullopt;
    std::string names;
    for (const auto& row : backends) {
      if (row.has_interfaces) names += (names.empty() ? "" : " or ") + std::string(row.name);
    }
    return "--internal-if and --external-if require --backend " + names;
  }
  if (internal.empty() != external.empty()) {
    return "--internal-if and --external-if: give both, or none if nothing is forwarded";
  }
  if (internal.empty() || internal != external) return std::nullopt;
  return "--internal-if and --external-if must name different interfaces";
}

std::optional<std::string> choose_backend(Arguments& arguments) {
  for (std::size_t i = 0; i < arguments.types.size(); ++i) {
    const auto& row = arguments.backends[i];
    const bool chosen = row.name == arguments.backend;
    if (chosen) {
      if (auto error = judge_interfaces(arguments.settings, arguments.backends, row)) return error;
    }
    if (auto error = arguments.types[i]->check(chosen, arguments.settings)) return error;
    if (!chosen) continue;
    arguments.settings.backend = std::move(arguments.types[i]);
    arguments.settings.capabilities = row.capabilities;
  }
  return std::nullopt;
}

/// A mistake of the file is explained in its manual page, others in the help.
cli::UsageExit wrong(const cli::Options& options, const std::string& what,
                     const std::string& file) {
  const bool of_file = !file.empty() && what.starts_with(file + ":");
  return cli::wrong(options, what, of_file ? "see simco-middlebox.toml(5)" : nullptr);
}

/// Sets the parts that depend on several options. Returns a complaint, or nothing.
std::optional<std::string> set(Arguments& arguments, FileParts& parts) {
  auto& server = arguments.settings.server;
  server.directory = std::move(parts.agents.directory);
  server.secret = std::move(parts.agents.secret);
  arguments.settings.secret_files = std::move(parts.agents.secret_files);
  // Rules are also removed by a program whose optional libraries have gone.
  if (!arguments.settings.remove_rules) {
    if (auto error = store::fault_in_use(arguments.settings.state)) return "--state: " + *error;
    if (auto error = arguments.transport.fault()) return error;
    if (auto error = set_listeners(arguments, parts)) return error;
  }
  if (auto error = judge_nat(server.nat)) return error;
  return choose_backend(arguments);  // its options may not go with the rest
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv,
                                                       BackendTable backends) {
  Arguments arguments(backends);
  cli::Options options("simco-middlebox", "SIMCO (RFC 4540) middlebox", kExamples);
  declare(options, arguments);
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  FileParts parts;
  const auto& file = arguments.config;
  if (!file.empty()) {
    if (const auto error = read_file(file, options, parts)) {
      return std::unexpected(wrong(options, *error, file));
    }
  }
  if (const auto error = set(arguments, parts)) {
    return std::unexpected(wrong(options, *error, file));
  }
  arguments.settings.options = options.values();
  return std::move(arguments.settings);
}

void share_descriptors(ServerOptions& options, std::size_t descriptors) {
  const std::size_t part = std::max<std::size_t>(descriptors / 4, 1);
  options.guests_max = std::min(options.guests_max, part);
  std::vector<net::ListenOptions*> all{&options.listen};
  for (auto& further : options.further_listeners) all.push_back(&further.listen);
  std::size_t listeners = 0;
  for (const auto* listen : all) {
    const auto with_tls = std::ranges::count_if(listen->transports, goes_over_tls);
    listeners += listen->addresses.size() * static_cast<std::size_t>(with_tls);
  }
  const auto each = std::max<std::size_t>(part / std::max<std::size_t>(listeners, 1), 1);
  for (auto* listen : all) listen->handshakes_max = std::min(listen->handshakes_max, each);
}

}  // namespace simco::middlebox
