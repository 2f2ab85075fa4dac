// The options are one table: CLI11 reads the command line, toml++ the file, and a file's key is an
// option's long name. What the command line says wins.
#include "middlebox/config/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>
#include <map>
#include <memory>

#include "middlebox/config/agents.hpp"
#include "middlebox/config/listeners.hpp"
#include "middlebox/config/nat_options.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/store/make_store.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/config_file.hpp"
#include "simco/cli/transport_arguments.hpp"
#include "simco/cli/values.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::middlebox {
namespace {

struct Raw {
  explicit Raw(BackendTable table) : backends(table), backend(table.front().name) {
    for (const auto& row : table) types.push_back(row.make());
  }

  Settings settings;
  BackendTable backends;
  std::vector<std::unique_ptr<BackendType>> types;  ///< one for each row
  std::string backend;
  cli::TransportArguments transport;
  double message_timeout_s = 60;
  std::string mode = "firewall";
  std::vector<std::string> outside;
  std::vector<std::string> inside;
  std::string ports = "1024-65535";
  std::string pooling = "paired";
  std::string state_sync = "disk";
  std::string config;
  bool allow_anonymous = false;
  std::string require = "none";
  std::string check_user;  ///< of main()
};

constexpr const char* kProgram = "simco-middlebox";
constexpr const char* kExamples =
    "  simco-middlebox\n"
    "      for trials: no authentication, loopback only, enforces nothing\n"
    "  simco-middlebox --backend nftables --internal-if lan0 --external-if wan0\n"
    "      a firewall between two interfaces (root, or CAP_NET_ADMIN)\n"
    "  simco-middlebox --config /etc/simco/middlebox.toml --check\n"
    "      what is wrong with a configuration, see simco-middlebox.toml(5)";

std::vector<std::string> names_of(BackendTable backends) {
  std::vector<std::string> result;
  for (const auto& row : backends) result.emplace_back(row.name);
  return result;
}

void declare_limits(CLI::App& app, Raw& raw) {
  app.option_defaults()->group("Limits");
  auto& server = raw.settings.server;
  app.add_option("--max-lifetime", server.lifetime_max_s,
                 "Maximum lifetime granted to a rule, seconds")
      ->check(cli::whole_number(1, 0xFFFF'FFFF))
      ->capture_default_str();
  app.add_option("--max-rules", server.rules_max, "Maximum number of policy rules")
      ->check(cli::whole_number(0, 0xFFFF'FFFF))
      ->capture_default_str();
  app.add_option(
         "--max-elements", server.elements_max,
         "Maximum number of kernel elements for all rules together: one per port of a rule (one "
         "for more than 1,024 ports); with NAT, three")
      ->check(cli::whole_number(0, 0xFFFF'FFFF))
      ->capture_default_str();
  app.add_option("--keep-replies", server.replies_kept,
                 "Replies to keep per session, so that requests that agents repeat are answered "
                 "again and not carried out again; 0: none")
      ->check(cli::whole_number(0, kRepliesKeptMax))
      ->capture_default_str();
  app.add_option("--max-sessions", server.sessions_max, "Maximum number of open sessions")
      ->check(cli::whole_number(0, 0xFFFF'FFFF))
      ->capture_default_str();
}

void declare_listening(CLI::App& app, Raw& raw) {
  auto& server = raw.settings.server;
  raw.transport.declare(app, cli::Role::kListener);
  raw.transport.declare_tls(app);
  app.add_option("--require", raw.require,
                 "Security that a session requires, refused with 0x0326 otherwise: none (as "
                 "configured for each agent), sa (authentication by SA or TLS) or tls")
      ->check(cli::one_of({"none", "sa", "tls"}))
      ->capture_default_str();
  app.add_option("--listen", server.listen.addresses,
                 "Addresses to listen on, comma-separated" + net::several_addresses_note())
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--port", server.listen.port, "Port to listen on; 0: any free port")
      ->check(cli::whole_number(0, 65'535))
      ->capture_default_str();
  app.add_flag("--allow-anonymous", raw.allow_anonymous,
               "Listen on non-loopback addresses even if agents need not authenticate");
}

void declare_rules(CLI::App& app, Raw& raw) {
  app.option_defaults()->group("Enforcement");
  app.add_option("--backend", raw.backend, "What enforces the rules")
      ->check(cli::one_of(names_of(raw.backends)))
      ->capture_default_str();
  app.add_option("--internal-if", raw.settings.internal_if,
                 "Interface towards the internal network");
  app.add_option("--external-if", raw.settings.external_if,
                 "Interface towards the external network");
  for (const auto& type : raw.types) type->declare(app);
  app.option_defaults()->group("Firewall and NAT");
  app.add_option("--mode", raw.mode, "Type of middlebox: firewall, traditional NAT or twice NAT")
      ->check(cli::one_of({"firewall", "nat", "twice-nat"}))
      ->capture_default_str();
  app.add_option("--outside", raw.outside,
                 "Outside address pool of a NAT: ADDR, ADDR-ADDR or PREFIX/LEN, comma-separated")
      ->delimiter(',');
  app.add_option("--inside", raw.inside, "Inside address pool of a twice NAT")->delimiter(',');
  app.add_option("--ports", raw.ports, "Ports of the pools, LOW-HIGH")->capture_default_str();
  app.add_option("--address-pooling", raw.pooling,
                 "paired (RFC 4787: one outside address per internal host) or arbitrary")
      ->check(cli::one_of({"paired", "arbitrary"}))
      ->capture_default_str();
  declare_limits(app, raw);
  app.add_option("--message-timeout", raw.message_timeout_s,
                 "Maximum silence within a message and before a session is open, seconds")
      ->check(cli::number(0.01, 86'400.0))
      ->capture_default_str();
}

void declare(CLI::App& app, Raw& raw) {
  auto& server = raw.settings.server;
  declare_listening(app, raw);
  declare_rules(app, raw);
  app.option_defaults()->group("Configuration and log");
  app.add_option("--config", raw.config,
                 "TOML file: long option names as keys, and the agents; reread on SIGHUP");
  app.add_option(
         "--audit-rate", server.audit_rate,
         "Maximum number of rule changes to log per second, excess ones are only counted; 0: "
         "log none")
      ->check(cli::whole_number(0, 0xFFFF'FFFF))
      ->capture_default_str();
  app.add_option("--state", raw.settings.state,
                 "Where to store rules so that they survive a restart: " + store::store_forms());
  app.add_option(
         "--state-sync", raw.state_sync,
         "State file: when a rule counts as stored and its reply may be sent: disk (survives a "
         "power failure) or system (survives a crash of the process)")
      ->check(cli::one_of({"disk", "system"}))
      ->capture_default_str();
  app.add_option("--metrics", raw.settings.metrics,
                 "ADDRESS:PORT to serve Prometheus metrics on, at /metrics");
  app.add_option("--inspect", raw.settings.inspect,
                 "ADDRESS:PORT to tell the operator at what rules have counted (--counters), by "
                 "HTTP");
  app.add_flag("--check", raw.settings.check_only,
               "Check the options and the configuration file, then exit");
  app.add_flag("--remove-rules", raw.settings.remove_rules,
               "Remove from the kernel what an earlier run with these options has left, then exit");
  app.add_option("--log-level", raw.settings.log_level, "Lowest level to log")
      ->check(cli::one_of({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--check-user", raw.check_user,
                 "With --check as root: check as this user (default: User= of the service)");
  cli::declare_help(app);
  cli::set_layout(app, kExamples);
}

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

/// Appends each option of the file that is not on the command line to `words`, and reads the rest.
std::optional<std::string> read_file(const std::string& path, const CLI::App& app,
                                     BackendTable backends, std::vector<std::string>& words,
                                     FileParts& parts) {
  const auto check = [backends](const std::string& word) {
    CLI::App probe;
    Raw scratch(backends);
    declare(probe, scratch);
    return cli::word_fault(probe, word);
  };
  auto file = cli::read_config_file(
      path, app, {{"agent", "listener", "secret", "secret-file"}, check, misplaced});
  if (!file) return file.error();
  words.insert(words.end(), file->words.begin(), file->words.end());
  auto read = read_agents(file->table, path);
  if (!read) return read.error();
  parts.agents = std::move(*read);
  parts.table = std::move(file->table);
  return std::nullopt;
}

bool goes_over_tls(net::Transport transport) { return net::type_of(transport).tls; }

std::optional<std::string> judge_listener(const Raw& raw, net::ListenOptions& listen,
                                          Require require) {
  const bool tls = listen.tls && std::ranges::any_of(listen.transports, goes_over_tls);
  if (require == Require::kTls && !tls) {
    return "--require tls requires --transport " +
           net::transport_names(" or ", &net::TransportType::tls) +
           ", --tls-certificate, --tls-key and --tls-ca: otherwise no agent could open a session";
  }
  if (auto fault = net::fault_in_tls(listen.transports, listen.tls.get())) return fault;
  for (auto& address : listen.addresses) {
    auto parsed = net::parse_listen_address(address);
    if (!parsed) return "--listen: " + parsed.error();
    address = std::move(*parsed);
    const auto ip = boost::asio::ip::make_address(address);
    const bool anonymous =
        require == Require::kNone && raw.settings.server.directory.accepts_anonymous();
    if (!ip.is_loopback() && anonymous && !raw.allow_anonymous) {
      return "--listen: " + address +
             " is reachable from other hosts and agents need not authenticate: configure agents "
             "with secrets, use --require sa or --require tls, listen on a loopback address, or "
             "confirm with --allow-anonymous";
    }
  }
  return std::nullopt;
}

/// Sets all listeners, including those of the file.
std::optional<std::string> set_listeners(Raw& raw, const FileParts& parts) {
  auto& server = raw.settings.server;
  server.listen.transports = raw.transport.transports();
  server.listen.settings = raw.transport.settings();
  server.listen.tls = raw.transport.tls();
  server.require = *parse_require(raw.require);
  if (const auto error = judge_listener(raw, server.listen, server.require)) return error;
  auto further = read_listeners(parts.table, raw.config, {server.listen, server.require});
  if (!further) return further.error();
  server.further_listeners = std::move(*further);
  for (auto& [listen, require] : server.further_listeners) {
    if (const auto error = judge_listener(raw, listen, require)) {
      return raw.config + ": [[listener]]: " + *error;
    }
  }
  return std::nullopt;
}

std::optional<std::string> judge_http(const std::string& option, const std::string& endpoint) {
  if (endpoint.empty()) return std::nullopt;
  const auto parsed = net::parse_address_port(endpoint);
  return parsed ? std::nullopt : std::optional(option + ": " + parsed.error());
}

std::optional<std::string> judge_state(Raw& raw) {
  auto& settings = raw.settings;
  settings.state_on_disk = raw.state_sync == "disk";
  if (settings.state.empty()) return std::nullopt;
  const auto store = store::make_store(settings.state, store::Sync::kDisk);
  return store ? std::nullopt : std::optional("--state: " + store.error());
}

std::optional<std::string> set_nat(const Raw& raw, policy::NatTable::Options& nat) {
  const auto outside = parse_pool(raw.outside);
  if (!outside) return "--outside: " + outside.error();
  const auto inside = parse_pool(raw.inside);
  if (!inside) return "--inside: " + inside.error();
  if (!parse_port_pool(raw.ports, nat))
    return "--ports: expected LOW-HIGH, got '" + raw.ports + "'";
  nat.outside = *outside;
  nat.inside = *inside;
  nat.paired = raw.pooling == "paired";
  nat.mode = raw.mode == "nat"         ? policy::Mode::kTraditionalNat
             : raw.mode == "twice-nat" ? policy::Mode::kTwiceNat
                                       : policy::Mode::kFirewall;
  const bool translates = nat.mode != policy::Mode::kFirewall;
  const bool twice = nat.mode == policy::Mode::kTwiceNat;
  if (translates && nat.outside.empty())
    return "--mode " + raw.mode + " requires --outside ADDRESSES";
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
  if (internal.empty() || external.empty()) {
    return fmt::format("--backend {} requires --internal-if NAME and --external-if NAME",
                       chosen.name);
  }
  if (internal != external) return std::nullopt;
  return "--internal-if and --external-if must name different interfaces";
}

std::optional<std::string> choose_backend(Raw& raw) {
  for (std::size_t i = 0; i < raw.types.size(); ++i) {
    const auto& row = raw.backends[i];
    const bool chosen = row.name == raw.backend;
    if (chosen) {
      if (auto error = judge_interfaces(raw.settings, raw.backends, row)) return error;
    }
    if (auto error = raw.types[i]->check(chosen, raw.settings)) return error;
    if (!chosen) continue;
    raw.settings.backend = std::move(raw.types[i]);
    raw.settings.capabilities = row.capabilities;
  }
  return std::nullopt;
}

/// A mistake of the file is explained in its manual page, others in the help.
cli::UsageExit wrong(const CLI::App& app, const std::string& what, const std::string& file) {
  const bool of_file = !file.empty() && what.starts_with(file + ":");
  return cli::wrong(app, what, of_file ? "see simco-middlebox.toml(5)" : nullptr);
}

/// Sets what takes more than one option. Returns what is wrong.
std::optional<std::string> set(Raw& raw, FileParts& parts) {
  auto& server = raw.settings.server;
  server.directory = std::move(parts.agents.directory);
  server.secret = std::move(parts.agents.secret);
  raw.settings.secret_files = std::move(parts.agents.secret_files);
  if (auto error = raw.transport.fault()) return error;
  if (auto error = set_listeners(raw, parts)) return error;
  if (auto error = judge_http("--metrics", raw.settings.metrics)) return error;
  if (auto error = judge_http("--inspect", raw.settings.inspect)) return error;
  if (auto error = judge_state(raw)) return error;
  server.message_timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(raw.message_timeout_s * 1000));
  if (auto error = set_nat(raw, server.nat)) return error;
  return choose_backend(raw);  // its options may not go with the rest
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv,
                                                       BackendTable backends) {
  std::vector<std::string> words(argv + 1, argv + argc);
  FileParts parts;
  std::string file;
  {
    Raw first(backends);
    CLI::App app("SIMCO (RFC 4540) middlebox", kProgram);
    declare(app, first);
    if (const auto exit = cli::parse(app, words)) return std::unexpected(*exit);
    file = first.config;
    if (!file.empty()) {
      if (const auto error = read_file(file, app, backends, words, parts)) {
        return std::unexpected(wrong(app, *error, file));
      }
    }
  }
  Raw raw(backends);
  CLI::App app("", kProgram);
  declare(app, raw);
  if (const auto exit = cli::parse(app, words)) return std::unexpected(*exit);
  if (const auto error = set(raw, parts)) return std::unexpected(wrong(app, *error, file));
  raw.settings.options = cli::effective_options(app);
  return std::move(raw.settings);
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
