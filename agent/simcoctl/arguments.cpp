// Declares the options and commands of simcoctl, with their help texts and the ranges of their
// values.
#include "agent/simcoctl/arguments.hpp"

namespace simco::ctl {
namespace {

constexpr const char* kEnableExamples =
    "  simcoctl enable --internal 10.0.0.5:5004/2 --external 192.0.2.7:6000/2 --udp\n"
    "      RTP and RTCP between two endpoints, both ways\n"
    "  simcoctl enable --internal 10.0.0.5:5060 --udp --lifetime 600\n"
    "      from any external host to one port\n"
    "  simcoctl --connect box.example.org enable --for-me tcp:22 -- ssh box.example.org\n"
    "  simcoctl enable --internal '[2001:db8::5]:5004' --external '[2001:db8:1::7]:6000' --udp\n"
    "ADDRESS/LENGTH is a prefix, PORT/PORTS a number of consecutive ports, any every address.";

constexpr std::uint32_t kMost = 0xFFFF'FFFF;  ///< of PIDs, and of what is counted

void declare_protocol(cli::Options& command, Arguments& arguments) {
  command.flag("--udp", arguments.udp, "UDP");
  command.flag("--tcp", arguments.tcp, "TCP");
  command.flag("--sctp", arguments.sctp, "SCTP");
  command.text("--protocol", arguments.protocol,
               "Other protocol, by name or number; 'any' for all");
}

void declare_tuples(cli::Options& command, Arguments& arguments) {
  command.text("--internal", arguments.internal,
               "Internal side: ADDRESS[/LENGTH][:PORT[/PORTS]] or any[:PORT[/PORTS]]");
  command.text("--external", arguments.external, "External side, in the same form");
  declare_protocol(command, arguments);
  command.flag("--ipv6", arguments.ipv6, "If both sides are 'any': IPv6 instead of IPv4");
}

void declare_lifetime(cli::Options& command, Arguments& arguments) {
  command.whole("--lifetime", arguments.lifetime_s, "Requested lifetime, seconds", 1);
}

void declare_group(cli::Options& command, Arguments& arguments) {
  command.whole("--group", arguments.group, "Group (GID) to join (default: a new group)", 1);
}

void declare_enable(cli::Options& options, Arguments& arguments) {
  auto& command =
      options.command("enable", "Let traffic pass (PER, or PEA with --after)", kEnableExamples);
  declare_tuples(command, arguments);
  declare_lifetime(command, arguments);
  declare_group(command, arguments);
  command.choice("--direction", arguments.direction,
                 "in, out or both (default: both, or in if an address or port is a wildcard)",
                 {"in", "out", "both"});
  command.flag("--same-parity", arguments.same_parity,
               "NAT: keep the parity (odd or even) of the internal ports");
  command.whole("--after", arguments.after, "Enable this reservation (PID)", 1);
  command.parsed("--for-me", arguments.for_me,
                 "PROTOCOL:PORT of the middlebox's own machine, guarded there, for this machine: "
                 "from the address of the session to the middlebox's",
                 parse_protocol_ports);
  command.parsed_each(
      "PROGRAM", arguments.program,
      "After --: run this, and keep the rule until it ends; the exit status is its",
      [](const std::string& word) -> std::expected<std::string, std::string> { return word; });
}

void declare_reserve(cli::Options& options, Arguments& arguments) {
  auto& command = options.command("reserve", "Reserve addresses and ports of a NAT (PRR)",
                                  "  simcoctl reserve --udp --ports 2 --parity even");
  declare_protocol(command, arguments);
  declare_lifetime(command, arguments);
  declare_group(command, arguments);
  command.text("--ports", arguments.ports, "Number of consecutive ports, or 'all'");
  command.choice("--parity", arguments.parity, "Parity of the first port: any, odd or even",
                 {"any", "odd", "even"});
  command.flag("--twice", arguments.twice, "Twice NAT: reserve on both sides");
  command.flag("--ipv4", arguments.ipv4, "IPv4 (the default)");
  command.flag("--ipv6", arguments.ipv6, "IPv6");
  command.flag("--any-version", arguments.any_version, "Let the middlebox choose the IP version");
}

void declare_disable(cli::Options& options, Arguments& arguments) {
  auto& command = options.command("disable", "Block traffic and end the rules that allow it (PDR)",
                                  "  simcoctl disable --external 192.0.2.0/24 --lifetime 600");
  declare_tuples(command, arguments);
  declare_lifetime(command, arguments);
}

void declare_inspect(cli::Options& command, Arguments& arguments) {
  command.text("--inspect", arguments.inspect,
               "HOST:PORT where the middlebox tells (its --inspect) what rules have counted (its "
               "--counters): show packets, bytes and the time of the last packet");
}

std::expected<PolicyRuleId, std::string> read_pid(const std::string& text) {
  const auto number = cli::read_whole(text, 1, kMost);
  if (!number) return std::unexpected(number.error());
  return PolicyRuleId{static_cast<std::uint32_t>(*number)};
}

void declare_pids(cli::Options& command, Arguments& arguments) {
  auto& row = command.parsed_each("PID", arguments.pids, "Policy rules", read_pid);
  row.type = "NUMBER";
  row.required = true;
}

/// The commands about rules that are known by their PIDs, and the list of them.
void declare_rules(cli::Options& options, Arguments& arguments) {
  auto& lifetime = options.command("lifetime", "Change the lifetime of a rule (PLC)");
  lifetime.whole("PID", arguments.pid, "Policy rule", 1).required = true;
  lifetime.whole("SECONDS", arguments.lifetime_s, "New lifetime, from now; 0 ends the rule")
      .required = true;
  auto& remove = options.command("delete", "End rules (PLC with lifetime 0)");
  declare_pids(remove, arguments);
  auto& status = options.command("status", "Show rules (PRS)");
  declare_pids(status, arguments);
  declare_inspect(status, arguments);
  auto& list = options.command("list", "List the rules that this agent may see (PRL)");
  list.flag("--pids", arguments.only_pids, "Show their numbers only, a line each");
  declare_inspect(list, arguments);
}

void declare_watch(cli::Options& options, Arguments& arguments) {
  auto& command =
      options.command("watch", "Show rule events (ARE), with the time, until interrupted");
  command.flag("--full", arguments.in_full, "Show the status of the rule with each event");
  command.whole("--count", arguments.count, "Exit after this many events; 0: never", 0, kMost);
}

void declare_explain(cli::Options& options, Arguments& arguments) {
  auto& command = options.command(
      "explain", "Say what the middlebox does with a packet, and which rule decides",
      "  simcoctl explain 10.0.0.5:5004 192.0.2.7:6000 --udp --in");
  command.text("INTERNAL", arguments.internal, "Internal end of the packet: ADDRESS[:PORT]")
      .required = true;
  command.text("EXTERNAL", arguments.external, "External end of the packet: ADDRESS[:PORT]")
      .required = true;
  declare_protocol(command, arguments);
  command.flag("--in", arguments.inbound, "It comes from the external end (the default)");
  command.flag("--out", arguments.outbound, "It comes from the internal end");
}

void declare_top(cli::Options& options, Arguments& arguments) {
  auto& command = options.command(
      "top", "Show what the middlebox is doing, using its metrics, until interrupted");
  command.text("--metrics", arguments.metrics, "Where the middlebox serves its metrics: HOST:PORT");
  command.seconds("--interval", arguments.interval, "Time between updates, seconds", 0.1, 3600.0);
  command.whole("--count", arguments.count, "Exit after this many updates; 0: never", 0, kMost);
}

}  // namespace

void declare(cli::Options& options, Arguments& arguments, const cli::KeptValues& kept) {
  arguments.agent.declare(options);
  options.group("Output");
  options.flag("--json", arguments.json, "Print JSON");
  options.group("Kept values");
  cli::declare_kept(options, arguments.kept, kept);
  declare_enable(options, arguments);
  declare_reserve(options, arguments);
  declare_disable(options, arguments);
  declare_rules(options, arguments);
  declare_watch(options, arguments);
  declare_explain(options, arguments);
  declare_top(options, arguments);
}

}  // namespace simco::ctl
