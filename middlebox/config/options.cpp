// The options are one table: CLI11 reads the command line, toml++ the file, and a file's key is an
// option's long name. What the command line says wins.
#include "middlebox/config/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>

#include "middlebox/config/agents.hpp"
#include "middlebox/config/arguments.hpp"
#include "middlebox/config/listeners.hpp"
#include "middlebox/config/nat_options.hpp"
#include "middlebox/store/make_store.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/config_file.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::middlebox {
namespace {

constexpr const char* kProgram = "simco-middlebox";

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
    Arguments scratch(backends);
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

std::optional<std::string> judge_listener(const Arguments& arguments, net::ListenOptions& listen,
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
  server.listen.transports = arguments.transport.transports();
  server.listen.settings = arguments.transport.settings();
  server.listen.tls = arguments.transport.tls();
  server.require = *parse_require(arguments.require);
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

std::optional<std::string> judge_http(const std::string& option, const std::string& endpoint) {
  if (endpoint.empty()) return std::nullopt;
  const auto parsed = net::parse_address_port(endpoint);
  return parsed ? std::nullopt : std::optional(option + ": " + parsed.error());
}

std::optional<std::string> judge_state(Arguments& arguments) {
  auto& settings = arguments.settings;
  settings.state_on_disk = arguments.state_sync == "disk";
  if (settings.state.empty()) return std::nullopt;
  const auto store = store::make_store(settings.state, store::Sync::kDisk);
  return store ? std::nullopt : std::optional("--state: " + store.error());
}

std::optional<std::string> set_nat(const Arguments& arguments, policy::NatTable::Options& nat) {
  const auto outside = parse_pool(arguments.outside);
  if (!outside) return "--outside: " + outside.error();
  const auto inside = parse_pool(arguments.inside);
  if (!inside) return "--inside: " + inside.error();
  if (!parse_port_pool(arguments.ports, nat)) {
    return "--ports: expected LOW-HIGH, got '" + arguments.ports + "'";
  }
  nat.outside = *outside;
  nat.inside = *inside;
  nat.paired = arguments.pooling == "paired";
  nat.mode = arguments.mode == "nat"         ? policy::Mode::kTraditionalNat
             : arguments.mode == "twice-nat" ? policy::Mode::kTwiceNat
                                             : policy::Mode::kFirewall;
  const bool translates = nat.mode != policy::Mode::kFirewall;
  const bool twice = nat.mode == policy::Mode::kTwiceNat;
  if (translates && nat.outside.empty()) {
    return "--mode " + arguments.mode + " requires --outside ADDRESSES";
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
  if (internal.empty() || external.empty()) {
    return fmt::format("--backend {} requires --internal-if NAME and --external-if NAME",
                       chosen.name);
  }
  if (internal != external) return std::nullopt;
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
cli::UsageExit wrong(const CLI::App& app, const std::string& what, const std::string& file) {
  const bool of_file = !file.empty() && what.starts_with(file + ":");
  return cli::wrong(app, what, of_file ? "see simco-middlebox.toml(5)" : nullptr);
}

/// Sets what takes more than one option. Returns what is wrong.
std::optional<std::string> set(Arguments& arguments, FileParts& parts) {
  auto& server = arguments.settings.server;
  server.directory = std::move(parts.agents.directory);
  server.secret = std::move(parts.agents.secret);
  arguments.settings.secret_files = std::move(parts.agents.secret_files);
  if (auto error = arguments.transport.fault()) return error;
  if (auto error = set_listeners(arguments, parts)) return error;
  if (auto error = judge_http("--metrics", arguments.settings.metrics)) return error;
  if (auto error = judge_http("--inspect", arguments.settings.inspect)) return error;
  if (auto error = judge_state(arguments)) return error;
  server.message_timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(arguments.message_timeout_s * 1000));
  if (auto error = set_nat(arguments, server.nat)) return error;
  return choose_backend(arguments);  // its options may not go with the rest
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv,
                                                       BackendTable backends) {
  std::vector<std::string> words(argv + 1, argv + argc);
  FileParts parts;
  std::string file;
  {
    Arguments first(backends);
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
  Arguments arguments(backends);
  CLI::App app("", kProgram);
  declare(app, arguments);
  if (const auto exit = cli::parse(app, words)) return std::unexpected(*exit);
  if (const auto error = set(arguments, parts)) return std::unexpected(wrong(app, *error, file));
  arguments.settings.options = cli::effective_options(app);
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
