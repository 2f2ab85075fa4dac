// Declares the options and commands of simcoctl, and turns them into a request. Everything that can
// be checked without a session is checked here.
#include "agent/simcoctl/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "agent/agent_arguments.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/values.hpp"
#include "simco/wire/number.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ctl {
namespace {

struct Raw {
  agent::AgentArguments agent{"connect", 10};
  bool json = false;

  std::string internal;
  std::string external;
  bool udp = false;
  bool tcp = false;
  bool sctp = false;
  std::string protocol;
  std::uint32_t lifetime_s = 120;
  std::string direction;
  bool same_parity = false;
  std::uint32_t group = 0;
  std::uint32_t after = 0;
  std::string ports = "1";
  std::string parity = "any";
  bool twice = false;
  bool ipv4 = false;
  bool ipv6 = false;
  bool any_version = false;
  std::vector<std::uint32_t> pids;
  std::uint32_t pid = 0;
  bool in_full = false;
  std::uint64_t count = 0;
  std::string metrics = "127.0.0.1:9464";
  std::string inspect;
  double interval_s = 1;
  bool inbound = false;
  bool outbound = false;
};

constexpr const char* kExamples =
    "  simcoctl enable --internal 10.0.0.5:5004/2 --external 192.0.2.7:6000/2 --udp\n"
    "  simcoctl list --full\n"
    "  simcoctl --connect box.example.org --name proxy1 --secret-file proxy1.secret watch\n"
    "COMMAND --help shows the options of a command, --help-all everything.";
constexpr const char* kEnableExamples =
    "  simcoctl enable --internal 10.0.0.5:5004/2 --external 192.0.2.7:6000/2 --udp\n"
    "      RTP and RTCP between two endpoints, both ways\n"
    "  simcoctl enable --internal 10.0.0.5:5060 --udp --lifetime 600\n"
    "      from any external host to one port\n"
    "  simcoctl enable --internal '[2001:db8::5]:5004' --external '[2001:db8:1::7]:6000' --udp\n"
    "ADDRESS/LENGTH is a prefix, PORT/PORTS a number of consecutive ports, any every address.";

struct Commands {
  CLI::App* enable;
  CLI::App* reserve;
  CLI::App* disable;
  CLI::App* lifetime;
  CLI::App* remove;
  CLI::App* status;
  CLI::App* list;
  CLI::App* watch;
  CLI::App* top;
  CLI::App* explain;
};

constexpr std::uint32_t kMost = 0xFFFF'FFFF;  ///< of PIDs, GIDs and lifetimes

void declare_globals(CLI::App& app, Raw& raw) {
  raw.agent.declare(app);
  app.option_defaults()->group("Output");
  app.add_flag("--json", raw.json, "Print JSON");
  cli::declare_help(app, "Print this help, and that of a command after it",
                    "Print all options, and the help of every command");
  app.option_defaults()->group("Options");
  cli::set_layout(app, kExamples);
  app.require_subcommand(1);
  app.fallthrough();
}

void declare_protocol(CLI::App& app, Raw& raw) {
  app.add_flag("--udp", raw.udp, "UDP");
  app.add_flag("--tcp", raw.tcp, "TCP");
  app.add_flag("--sctp", raw.sctp, "SCTP");
  app.add_option("--protocol", raw.protocol, "Other protocol, by name or number; 'any' for all");
}

void declare_tuples(CLI::App& app, Raw& raw) {
  app.add_option("--internal", raw.internal,
                 "Internal side: ADDRESS[/LENGTH][:PORT[/PORTS]] or any[:PORT[/PORTS]]");
  app.add_option("--external", raw.external, "External side, in the same form");
  declare_protocol(app, raw);
  app.add_flag("--ipv6", raw.ipv6, "If both sides are 'any': IPv6 instead of IPv4");
}

void declare_lifetime(CLI::App& app, Raw& raw) {
  app.add_option("--lifetime", raw.lifetime_s, "Requested lifetime, seconds")
      ->check(cli::whole_number(1, kMost))
      ->capture_default_str();
}

void declare_group(CLI::App& app, Raw& raw) {
  app.add_option("--group", raw.group, "Group (GID) to join (default: a new group)")
      ->check(cli::whole_number(1, kMost));
}

/// A command with its own examples.
CLI::App* add_command(CLI::App& app, const char* name, const char* what, const char* examples) {
  auto* command = app.add_subcommand(name, what);
  if (*examples != '\0') command->footer(std::string("Examples:\n") + examples);
  return command;
}

void declare_creation(CLI::App& app, Raw& raw, Commands& commands) {
  commands.enable =
      add_command(app, "enable", "Let traffic pass (PER, or PEA with --after)", kEnableExamples);
  declare_tuples(*commands.enable, raw);
  declare_lifetime(*commands.enable, raw);
  declare_group(*commands.enable, raw);
  commands.enable
      ->add_option("--direction", raw.direction,
                   "in, out or both (default: both, or in if an address or port is a wildcard)")
      ->check(cli::one_of({"in", "out", "both"}));
  commands.enable->add_flag("--same-parity", raw.same_parity,
                            "NAT: keep the parity (odd or even) of the internal ports");
  commands.enable->add_option("--after", raw.after, "Enable this reservation (PID)")
      ->check(cli::whole_number(1, kMost));

  commands.reserve = add_command(app, "reserve", "Reserve addresses and ports of a NAT (PRR)",
                                 "  simcoctl reserve --udp --ports 2 --parity even");
  declare_protocol(*commands.reserve, raw);
  declare_lifetime(*commands.reserve, raw);
  declare_group(*commands.reserve, raw);
  commands.reserve->add_option("--ports", raw.ports, "Number of consecutive ports, or 'all'")
      ->capture_default_str();
  commands.reserve->add_option("--parity", raw.parity, "Parity of the first port: any, odd or even")
      ->check(cli::one_of({"any", "odd", "even"}))
      ->capture_default_str();
  commands.reserve->add_flag("--twice", raw.twice, "Twice NAT: reserve on both sides");
  commands.reserve->add_flag("--ipv4", raw.ipv4, "IPv4 (the default)");
  commands.reserve->add_flag("--ipv6", raw.ipv6, "IPv6");
  commands.reserve->add_flag("--any-version", raw.any_version,
                             "Let the middlebox choose the IP version");

  commands.disable =
      add_command(app, "disable", "Block traffic and end the rules that allow it (PDR)",
                  "  simcoctl disable --external 192.0.2.0/24 --lifetime 600");
  declare_tuples(*commands.disable, raw);
  declare_lifetime(*commands.disable, raw);
}

void declare_explain(CLI::App& app, Raw& raw, Commands& commands) {
  commands.explain = add_command(
      app, "explain", "Say what the middlebox does with a packet, and which rule decides",
      "  simcoctl explain 10.0.0.5:5004 192.0.2.7:6000 --udp --in");
  commands.explain
      ->add_option("INTERNAL", raw.internal, "Internal end of the packet: ADDRESS[:PORT]")
      ->required();
  commands.explain
      ->add_option("EXTERNAL", raw.external, "External end of the packet: ADDRESS[:PORT]")
      ->required();
  declare_protocol(*commands.explain, raw);
  commands.explain->add_flag("--in", raw.inbound, "It comes from the external end (the default)");
  commands.explain->add_flag("--out", raw.outbound, "It comes from the internal end");
}

void declare_inspect(CLI::App& command, Raw& raw) {
  command.add_option("--inspect", raw.inspect,
                     "HOST:PORT where the middlebox tells (its --inspect) what rules have counted "
                     "(its --counters): show packets, octets and the time of the last packet");
}

Commands declare(CLI::App& app, Raw& raw) {
  Commands commands{};
  declare_globals(app, raw);
  declare_creation(app, raw, commands);
  commands.lifetime = app.add_subcommand("lifetime", "Change the lifetime of a rule (PLC)");
  commands.lifetime->add_option("PID", raw.pid, "Policy rule")
      ->required()
      ->check(cli::whole_number(1, kMost));
  commands.lifetime
      ->add_option("SECONDS", raw.lifetime_s, "New lifetime, from now; 0 ends the rule")
      ->required()
      ->check(cli::whole_number(0, kMost));
  commands.remove = app.add_subcommand("delete", "End rules (PLC with lifetime 0)");
  commands.remove->add_option("PID", raw.pids, "Policy rules")
      ->required()
      ->check(cli::whole_number(1, kMost));
  commands.status = app.add_subcommand("status", "Show rules (PRS)");
  commands.status->add_option("PID", raw.pids, "Policy rules")
      ->required()
      ->check(cli::whole_number(1, kMost));
  declare_inspect(*commands.status, raw);
  commands.list = app.add_subcommand("list", "List the rules that this agent may see (PRL)");
  commands.list->add_flag("--full", raw.in_full, "Show each rule in a line of a table");
  declare_inspect(*commands.list, raw);
  commands.watch =
      app.add_subcommand("watch", "Show rule events (ARE), with the time, until interrupted");
  commands.watch->add_flag("--full", raw.in_full, "Show the status of the rule with each event");
  commands.watch->add_option("--count", raw.count, "Exit after this many events; 0: never")
      ->check(cli::whole_number(0, kMost));
  declare_explain(app, raw, commands);
  commands.top = app.add_subcommand(
      "top", "Show what the middlebox is doing, using its metrics, until interrupted");
  commands.top
      ->add_option("--metrics", raw.metrics, "Where the middlebox serves its metrics: HOST:PORT")
      ->capture_default_str();
  commands.top->add_option("--interval", raw.interval_s, "Time between updates, seconds")
      ->check(cli::number(0.1, 3600.0))
      ->capture_default_str();
  commands.top->add_option("--count", raw.count, "Exit after this many updates; 0: never")
      ->check(cli::whole_number(0, kMost));
  return commands;
}

using Fault = std::optional<std::string>;

Fault set_globals(Raw& raw, Options& options) {
  options.json = raw.json;
  return raw.agent.read(options.target, options.agent);
}

/// Sets `protocol` to the one given, or to kProtocolAny.
Fault set_protocol(const Raw& raw, std::uint8_t& protocol) {
  if (raw.udp + raw.tcp + raw.sctp + !raw.protocol.empty() > 1) return "give only one protocol";
  protocol = raw.udp    ? kProtocolUdp
             : raw.tcp  ? kProtocolTcp
             : raw.sctp ? kProtocolSctp
                        : kProtocolAny;
  if (raw.protocol.empty() || raw.protocol == "any") return std::nullopt;
  const auto named = parse_protocol(raw.protocol);
  if (!named) return "--protocol: unknown protocol '" + raw.protocol + "'";
  protocol = *named;
  return std::nullopt;
}

Fault set_tuples(const Raw& raw, AddressTuple& internal, AddressTuple& external) {
  std::uint8_t protocol = kProtocolAny;
  if (auto fault = set_protocol(raw, protocol)) return fault;
  if (raw.internal.empty() && raw.external.empty()) return "give --internal, --external or both";
  const auto inner = parse_endpoint(raw.internal.empty() ? "any" : raw.internal);
  const auto outer = parse_endpoint(raw.external.empty() ? "any" : raw.external);
  if (!inner) return "--internal: " + inner.error();
  if (!outer) return "--external: " + outer.error();
  if ((inner->port != 0 || outer->port != 0) && protocol == kProtocolAny) {
    return "ports require a protocol: give --udp, --tcp, --sctp or --protocol";
  }
  const auto any_version = raw.ipv6 ? IpVersion::kIpv6 : IpVersion::kIpv4;
  const auto version = inner->prefix   ? inner->prefix->address.version
                       : outer->prefix ? outer->prefix->address.version
                                       : any_version;
  internal = inner->tuple(version, protocol, Location::kInternal);
  external = outer->tuple(version, protocol, Location::kExternal);
  return std::nullopt;
}

bool has_wildcard(const AddressTuple& internal, const AddressTuple& external) {
  const auto is_wild = [](const AddressTuple& tuple) {
    return prefix_of(tuple).length < address_bits(tuple.ip_version) ||
           (protocol_has_ports(tuple.protocol) && tuple.port == 0);
  };
  return is_wild(internal) || is_wild(external);
}

Direction direction_of(const Raw& raw, const AddressTuple& internal, const AddressTuple& external) {
  if (raw.direction == "in") return Direction::kInbound;
  if (raw.direction == "out") return Direction::kOutbound;
  if (raw.direction == "both") return Direction::kBidirectional;
  return has_wildcard(internal, external) ? Direction::kInbound : Direction::kBidirectional;
}

/// What the middlebox would refuse as inconsistent (0x034B), in words.
Fault judge_pair(const Raw& raw, const AddressTuple& internal, const AddressTuple& external) {
  const bool both = direction_of(raw, internal, external) == Direction::kBidirectional;
  if (both && has_wildcard(internal, external)) {
    return "--direction both needs one address and, with --udp, --tcp or --sctp, ports on both "
           "sides; in and out do not";
  }
  if (!port_ranges_differ(internal, external)) return std::nullopt;
  return fmt::format("--internal has {} ports and --external {}: both need the same number",
                     internal.port_range, external.port_range);
}

Fault set_enable(const Raw& raw, Command& command) {
  PerRequest request;
  if (auto fault = set_tuples(raw, request.internal, request.external)) return fault;
  request.parameters = {raw.same_parity ? PortParity::kSame : PortParity::kAny,
                        direction_of(raw, request.internal, request.external)};
  if (auto fault = judge_pair(raw, request.internal, request.external)) return fault;
  request.lifetime = {raw.lifetime_s};
  if (raw.group != 0) request.group = GroupId{raw.group};
  if (raw.after == 0) {
    command = request;
    return std::nullopt;
  }
  if (request.group)
    return "--group cannot be used with --after: the reservation already has a group";
  command = PeaRequest{request.parameters, request.internal, request.external, request.lifetime,
                       PolicyRuleId{raw.after}};
  return std::nullopt;
}

Fault set_reserve(const Raw& raw, Command& command) {
  PrrRequest request;
  auto& parameters = request.parameters;
  if (auto fault = set_protocol(raw, parameters.protocol)) return fault;
  parameters.nat_mode = raw.twice ? NatMode::kTwice : NatMode::kTraditional;
  if (raw.parity == "odd") parameters.parity = ReservedParity::kOdd;
  if (raw.parity == "even") parameters.parity = ReservedParity::kEven;
  if (raw.ipv4 + raw.ipv6 + raw.any_version > 1) {
    return "give only one of --ipv4, --ipv6 and --any-version";
  }
  parameters.inside_version = parameters.outside_version = raw.ipv6 ? RequestedIpVersion::kIpv6
                                                           : raw.any_version
                                                               ? RequestedIpVersion::kAny
                                                               : RequestedIpVersion::kIpv4;
  const auto ports = raw.ports == "all" ? kAnyPortRange : parse_number<std::uint16_t>(raw.ports);
  if (!ports) return "--ports: expected a number or 'all', got '" + raw.ports + "'";
  parameters.port_range = *ports;
  request.lifetime = {raw.lifetime_s};
  if (raw.group != 0) request.group = GroupId{raw.group};
  command = request;
  return std::nullopt;
}

/// Reads an end of a packet: one address and, if the protocol has ports, one port.
Fault set_end(const char* name, const std::string& text, bool ports, IpAddress& address,
              std::uint16_t& port) {
  const auto end = parse_endpoint(text);
  if (!end) return std::string(name) + ": " + end.error();
  const bool one = end->prefix && *end->prefix == host_prefix(end->prefix->address);
  if (!one || end->port_range != 1) {
    return fmt::format("{}: '{}' is not one end of a packet, which has one address and one port",
                       name, text);
  }
  if (ports && end->port == 0) return fmt::format("{}: '{}' has no port", name, text);
  if (!ports && end->port != 0) {
    return fmt::format("{}: '{}' has a port, and the protocol has none", name, text);
  }
  address = end->prefix->address;
  port = end->port;
  return std::nullopt;
}

Fault set_explain(const Raw& raw, Command& command) {
  Explain wanted;
  auto& packet = wanted.packet;
  if (auto fault = set_protocol(raw, packet.protocol)) return fault;
  if (packet.protocol == kProtocolAny) return "give the protocol of the packet, such as --udp";
  if (raw.inbound && raw.outbound) return "give only one of --in and --out";
  wanted.inbound = !raw.outbound;
  const bool ports = protocol_has_ports(packet.protocol);
  if (auto fault =
          set_end("INTERNAL", raw.internal, ports, packet.internal, packet.internal_port)) {
    return fault;
  }
  if (auto fault =
          set_end("EXTERNAL", raw.external, ports, packet.external, packet.external_port)) {
    return fault;
  }
  if (packet.internal.version != packet.external.version) {
    return "INTERNAL and EXTERNAL must have the same IP version";
  }
  command = wanted;
  return std::nullopt;
}

std::vector<PolicyRuleId> pids_of(const Raw& raw) {
  std::vector<PolicyRuleId> pids;
  for (const auto pid : raw.pids) pids.push_back({pid});
  return pids;
}

Fault set_command(const Raw& raw, const Commands& commands, Command& command) {
  if (commands.enable->parsed()) return set_enable(raw, command);
  if (commands.explain->parsed()) return set_explain(raw, command);
  if (commands.reserve->parsed()) return set_reserve(raw, command);
  if (commands.disable->parsed()) {
    PdrRequest request;
    if (auto fault = set_tuples(raw, request.internal, request.external)) return fault;
    request.lifetime = {raw.lifetime_s};
    command = request;
  }
  if (commands.lifetime->parsed()) command = Lifetimes{{raw.pid}, {raw.lifetime_s}};
  if (commands.remove->parsed()) command = Delete{pids_of(raw)};
  if (commands.status->parsed()) command = Status{pids_of(raw)};
  if (commands.list->parsed()) command = List{raw.in_full};
  if (commands.watch->parsed()) command = Watch{raw.in_full, raw.count};
  return std::nullopt;
}

Fault set_top(const Raw& raw, const Commands& commands, std::optional<Top>& top) {
  if (!commands.top->parsed()) return std::nullopt;
  const auto where = net::parse_host_port(raw.metrics, 9464);
  if (!where || !where->further_hosts.empty()) {
    return "--metrics: expected HOST:PORT, got '" + raw.metrics + "'";
  }
  const auto interval = std::chrono::milliseconds(static_cast<std::int64_t>(raw.interval_s * 1000));
  top = Top{*where, interval, raw.count};
  return std::nullopt;
}

Fault set_inspect(const Raw& raw, std::optional<net::HostPort>& inspect) {
  if (raw.inspect.empty()) return std::nullopt;
  const auto where = net::parse_host_port(raw.inspect, 0);
  if (!where || where->port == 0 || !where->further_hosts.empty()) {
    return "--inspect: expected HOST:PORT, got '" + raw.inspect + "'";
  }
  inspect = *where;
  return std::nullopt;
}

}  // namespace

std::expected<Options, cli::UsageExit> parse_options(int argc, const char* const* argv) {
  Raw raw;
  CLI::App app("Command-line agent for SIMCO (RFC 4540) middleboxes", "simcoctl");
  const auto commands = declare(app, raw);
  if (const auto exit = cli::parse(app, argc, argv)) return std::unexpected(*exit);
  Options options;
  if (const auto fault = set_globals(raw, options)) return std::unexpected(cli::wrong(app, *fault));
  if (const auto fault = set_inspect(raw, options.inspect)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  if (const auto fault = set_top(raw, commands, options.top)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  if (const auto fault = set_command(raw, commands, options.command)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  return options;
}

}  // namespace simco::ctl
