// Parses the command line of simcoctl. Everything that can be checked without a session is checked
// here, before anything is sent.
#include "agent/simcoctl/options.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "agent/simcoctl/arguments.hpp"
#include "simco/wire/number.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ctl {
namespace {

using cli::Fault;

constexpr const char* kExamples =
    "  simcoctl enable --internal 10.0.0.5:5004/2 --external 192.0.2.7:6000/2 --udp\n"
    "  simcoctl list\n"
    "  simcoctl --connect box.example.org --name proxy1 --secret-file proxy1.secret watch\n"
    "COMMAND --help shows the options of a command, --help-all everything.";

/// Sets `protocol` to the one given, or to kProtocolAny.
Fault set_protocol(const Arguments& arguments, std::uint8_t& protocol) {
  if (arguments.udp + arguments.tcp + arguments.sctp + !arguments.protocol.empty() > 1) {
    return "give only one protocol";
  }
  protocol = arguments.udp    ? kProtocolUdp
             : arguments.tcp  ? kProtocolTcp
             : arguments.sctp ? kProtocolSctp
                              : kProtocolAny;
  if (arguments.protocol.empty() || arguments.protocol == "any") return std::nullopt;
  const auto named = parse_protocol(arguments.protocol);
  if (!named) return "--protocol: unknown protocol '" + arguments.protocol + "'";
  protocol = *named;
  return std::nullopt;
}

Fault set_tuples(const Arguments& arguments, AddressTuple& internal, AddressTuple& external) {
  std::uint8_t protocol = kProtocolAny;
  if (auto fault = set_protocol(arguments, protocol)) return fault;
  if (arguments.internal.empty() && arguments.external.empty()) {
    return "give --internal, --external or both";
  }
  const auto inner = parse_endpoint(arguments.internal.empty() ? "any" : arguments.internal);
  const auto outer = parse_endpoint(arguments.external.empty() ? "any" : arguments.external);
  if (!inner) return "--internal: " + inner.error();
  if (!outer) return "--external: " + outer.error();
  if ((inner->port != 0 || outer->port != 0) && protocol == kProtocolAny) {
    return "ports require a protocol: give --udp, --tcp, --sctp or --protocol";
  }
  const auto any_version = arguments.ipv6 ? IpVersion::kIpv6 : IpVersion::kIpv4;
  const auto version = inner->prefix   ? inner->prefix->address.version
                       : outer->prefix ? outer->prefix->address.version
                                       : any_version;
  internal = inner->tuple(version, protocol, Location::kInternal);
  external = outer->tuple(version, protocol, Location::kExternal);
  return std::nullopt;
}

Direction direction_of(const Arguments& arguments, const AddressTuple& internal,
                       const AddressTuple& external) {
  if (arguments.direction == "in") return Direction::kInbound;
  if (arguments.direction == "out") return Direction::kOutbound;
  if (arguments.direction == "both") return Direction::kBidirectional;
  return usual_direction(internal, external);
}

/// What the middlebox would refuse as inconsistent (0x034B), in words.
Fault judge_pair(const Arguments& arguments, const AddressTuple& internal,
                 const AddressTuple& external) {
  const bool both = direction_of(arguments, internal, external) == Direction::kBidirectional;
  if (both && has_wildcard(internal, external)) {
    return "--direction both needs one address and, with --udp, --tcp or --sctp, ports on both "
           "sides; in and out do not";
  }
  if (!port_ranges_differ(internal, external)) return std::nullopt;
  return fmt::format("--internal has {} ports and --external {}: both need the same number",
                     internal.port_range, external.port_range);
}

/// Sets the sides of a rule that are known before there is a session.
Fault set_for_me(const Arguments& arguments, std::optional<ForMe>& for_me, PerRequest& request) {
  if (arguments.udp || arguments.tcp || arguments.sctp || !arguments.protocol.empty())
    return "--for-me has the protocol already: leave the other one out";
  if (arguments.after) return "--after cannot be used with --for-me";
  if (arguments.ipv6 || arguments.same_parity)
    return "--ipv6 and --same-parity have no effect with --for-me: leave them out";
  const auto& [protocol, ports] = *arguments.for_me;
  const auto internal = parse_endpoint(arguments.internal.empty() ? "any" : arguments.internal);
  const auto external = parse_endpoint(arguments.external.empty() ? "any" : arguments.external);
  if (!internal) return "--internal: " + internal.error();
  if (!external) return "--external: " + external.error();
  if (internal->port != 0) return "--internal: --for-me has the port already";
  for_me = ForMe{protocol, *internal, *external};
  for_me->internal.port = ports.first;
  for_me->internal.port_range = static_cast<std::uint16_t>(ports.last - ports.first + 1);
  request.parameters = {PortParity::kAny, arguments.direction == "out" ? Direction::kOutbound
                                          : arguments.direction == "both"
                                              ? Direction::kBidirectional
                                              : Direction::kInbound};
  return std::nullopt;
}

/// Sets the sides of the rule, and its direction.
Fault set_sides(const Arguments& arguments, PerRequest& request) {
  if (auto fault = set_tuples(arguments, request.internal, request.external)) return fault;
  request.parameters = {arguments.same_parity ? PortParity::kSame : PortParity::kAny,
                        direction_of(arguments, request.internal, request.external)};
  return judge_pair(arguments, request.internal, request.external);
}

Fault set_enable(const Arguments& arguments, Settings& settings) {
  PerRequest request;
  if (auto fault = arguments.for_me ? set_for_me(arguments, settings.for_me, request)
                                    : set_sides(arguments, request)) {
    return fault;
  }
  settings.program = arguments.program;
  // A lost session must not end what runs.
  if (!settings.program.empty()) settings.agent.reconnect.emplace();
  request.lifetime = {arguments.lifetime_s};
  if (arguments.group) request.group = GroupId{*arguments.group};
  if (!arguments.after) {
    settings.command = request;
    return std::nullopt;
  }
  if (!settings.program.empty()) return "--after cannot be used with a program to run";
  if (request.group) {
    return "--group cannot be used with --after: the reservation already has a group";
  }
  settings.command = PeaRequest{request.parameters, request.internal, request.external,
                                request.lifetime, PolicyRuleId{*arguments.after}};
  return std::nullopt;
}

Fault set_reserve(const Arguments& arguments, Command& command) {
  PrrRequest request;
  auto& parameters = request.parameters;
  if (auto fault = set_protocol(arguments, parameters.protocol)) return fault;
  parameters.nat_mode = arguments.twice ? NatMode::kTwice : NatMode::kTraditional;
  if (arguments.parity == "odd") parameters.parity = ReservedParity::kOdd;
  if (arguments.parity == "even") parameters.parity = ReservedParity::kEven;
  if (arguments.ipv4 + arguments.ipv6 + arguments.any_version > 1) {
    return "give only one of --ipv4, --ipv6 and --any-version";
  }
  parameters.inside_version = parameters.outside_version =
      arguments.ipv6          ? RequestedIpVersion::kIpv6
      : arguments.any_version ? RequestedIpVersion::kAny
                              : RequestedIpVersion::kIpv4;
  const auto ports =
      arguments.ports == "all" ? kAnyPortRange : parse_number<std::uint16_t>(arguments.ports);
  if (!ports) return "--ports: expected a number or 'all', got '" + arguments.ports + "'";
  parameters.port_range = *ports;
  request.lifetime = {arguments.lifetime_s};
  if (arguments.group) request.group = GroupId{*arguments.group};
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

Fault set_explain(const Arguments& arguments, Command& command) {
  Explain wanted;
  auto& packet = wanted.packet;
  if (auto fault = set_protocol(arguments, packet.protocol)) return fault;
  if (packet.protocol == kProtocolAny) return "give the protocol of the packet, such as --udp";
  if (arguments.inbound && arguments.outbound) return "give only one of --in and --out";
  wanted.inbound = !arguments.outbound;
  const bool ports = protocol_has_ports(packet.protocol);
  if (auto fault =
          set_end("INTERNAL", arguments.internal, ports, packet.internal, packet.internal_port)) {
    return fault;
  }
  if (auto fault =
          set_end("EXTERNAL", arguments.external, ports, packet.external, packet.external_port)) {
    return fault;
  }
  if (packet.internal.version != packet.external.version) {
    return "INTERNAL and EXTERNAL must have the same IP version";
  }
  command = wanted;
  return std::nullopt;
}

/// Sets `command` to the one called `name`, which needs a session.
Fault set_command(const Arguments& arguments, const std::string& name, Settings& settings) {
  auto& command = settings.command;
  if (name == "enable") return set_enable(arguments, settings);
  if (name == "explain") return set_explain(arguments, command);
  if (name == "reserve") return set_reserve(arguments, command);
  if (name == "disable") {
    PdrRequest request;
    if (auto fault = set_tuples(arguments, request.internal, request.external)) return fault;
    request.lifetime = {arguments.lifetime_s};
    command = request;
  }
  if (name == "lifetime") command = Lifetimes{{arguments.pid}, {arguments.lifetime_s}};
  if (name == "delete") command = Delete{arguments.pids};
  if (name == "status") command = Status{arguments.pids};
  if (name == "list") command = List{arguments.only_pids};
  if (name == "watch") command = Watch{arguments.in_full, arguments.count};
  return std::nullopt;
}

Fault set_top(const Arguments& arguments, std::optional<Top>& top) {
  const auto where = net::parse_host_port(arguments.metrics, 9464);
  if (!where || !where->further_hosts.empty()) {
    return "--metrics: expected HOST:PORT, got '" + arguments.metrics + "'";
  }
  top = Top{*where, arguments.interval, arguments.count};
  return std::nullopt;
}

/// Sets `inspect` to where the middlebox tells what rules have counted, if that was given.
Fault set_inspect(const Arguments& arguments, std::optional<net::HostPort>& inspect) {
  if (arguments.inspect.empty()) return std::nullopt;
  const auto where = net::parse_host_port(arguments.inspect, 0);
  if (!where || where->port == 0 || !where->further_hosts.empty()) {
    return "--inspect: expected HOST:PORT, got '" + arguments.inspect + "'";
  }
  inspect = *where;
  return std::nullopt;
}

/// Where users keep the values of options: the user's own file, and the system's.
cli::KeptValues kept_values() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  cli::KeptValues kept{"SIMCO_", {}, "~/.config/simco/simcoctl.toml and /etc/simco/simcoctl.toml"};
  const auto base = variable("XDG_CONFIG_HOME");
  const auto home = variable("HOME");
  if (!base.empty() || !home.empty()) {
    kept.files.push_back((base.empty() ? home + "/.config" : base) + "/simco/simcoctl.toml");
  }
  kept.files.emplace_back("/etc/simco/simcoctl.toml");
  return kept;
}

Fault complete(Arguments& arguments, const std::string& chosen, Settings& settings) {
  settings.json = arguments.json;
  if (chosen == "top") return set_top(arguments, settings.top);
  if (auto fault = arguments.agent.read(settings.target, settings.agent)) return fault;
  if (auto fault = set_inspect(arguments, settings.inspect)) return fault;
  return set_command(arguments, chosen, settings);
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv) {
  Arguments arguments;
  cli::Options options("simcoctl", "Command-line agent for SIMCO (RFC 4540) middleboxes",
                       kExamples);
  const auto kept = kept_values();
  declare(options, arguments, kept);
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = cli::read_kept_values(options, arguments.kept, kept)) {
    return std::unexpected(cli::wrong(options, *fault));
  }
  Settings settings;
  if (const auto fault = complete(arguments, options.chosen_command(), settings)) {
    return std::unexpected(cli::wrong(options, cli::with_sources(options, *fault)));
  }
  return settings;
}

}  // namespace simco::ctl
