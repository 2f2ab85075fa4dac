// Declares the options and commands of simcoctl, with their help texts and the ranges of their
// values.
#include "agent/simcoctl/arguments.hpp"

#include <CLI/CLI.hpp>

#include "simco/cli/command_line.hpp"
#include "simco/cli/values.hpp"

namespace simco::ctl {
namespace {

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

constexpr std::uint32_t kMost = 0xFFFF'FFFF;  ///< of PIDs, GIDs and lifetimes

void declare_globals(CLI::App& app, Arguments& arguments) {
  arguments.agent.declare(app);
  app.option_defaults()->group("Output");
  app.add_flag("--json", arguments.json, "Print JSON");
  cli::declare_help(app, "Print this help, and that of a command after it",
                    "Print all options, and the help of every command");
  app.option_defaults()->group("Options");
  cli::set_layout(app, kExamples);
  app.require_subcommand(1);
  app.fallthrough();
}

void declare_protocol(CLI::App& app, Arguments& arguments) {
  app.add_flag("--udp", arguments.udp, "UDP");
  app.add_flag("--tcp", arguments.tcp, "TCP");
  app.add_flag("--sctp", arguments.sctp, "SCTP");
  app.add_option("--protocol", arguments.protocol,
                 "Other protocol, by name or number; 'any' for all");
}

void declare_tuples(CLI::App& app, Arguments& arguments) {
  app.add_option("--internal", arguments.internal,
                 "Internal side: ADDRESS[/LENGTH][:PORT[/PORTS]] or any[:PORT[/PORTS]]");
  app.add_option("--external", arguments.external, "External side, in the same form");
  declare_protocol(app, arguments);
  app.add_flag("--ipv6", arguments.ipv6, "If both sides are 'any': IPv6 instead of IPv4");
}

void declare_lifetime(CLI::App& app, Arguments& arguments) {
  app.add_option("--lifetime", arguments.lifetime_s, "Requested lifetime, seconds")
      ->check(cli::whole_number(1, kMost))
      ->capture_default_str();
}

void declare_group(CLI::App& app, Arguments& arguments) {
  app.add_option("--group", arguments.group, "Group (GID) to join (default: a new group)")
      ->check(cli::whole_number(1, kMost));
}

/// A command with its own examples.
CLI::App* add_command(CLI::App& app, const char* name, const char* what, const char* examples) {
  auto* command = app.add_subcommand(name, what);
  if (*examples != '\0') command->footer(std::string("Examples:\n") + examples);
  return command;
}

void declare_creation(CLI::App& app, Arguments& arguments, Commands& commands) {
  commands.enable =
      add_command(app, "enable", "Let traffic pass (PER, or PEA with --after)", kEnableExamples);
  declare_tuples(*commands.enable, arguments);
  declare_lifetime(*commands.enable, arguments);
  declare_group(*commands.enable, arguments);
  commands.enable
      ->add_option("--direction", arguments.direction,
                   "in, out or both (default: both, or in if an address or port is a wildcard)")
      ->check(cli::one_of({"in", "out", "both"}));
  commands.enable->add_flag("--same-parity", arguments.same_parity,
                            "NAT: keep the parity (odd or even) of the internal ports");
  commands.enable->add_option("--after", arguments.after, "Enable this reservation (PID)")
      ->check(cli::whole_number(1, kMost));

  commands.reserve = add_command(app, "reserve", "Reserve addresses and ports of a NAT (PRR)",
                                 "  simcoctl reserve --udp --ports 2 --parity even");
  declare_protocol(*commands.reserve, arguments);
  declare_lifetime(*commands.reserve, arguments);
  declare_group(*commands.reserve, arguments);
  commands.reserve->add_option("--ports", arguments.ports, "Number of consecutive ports, or 'all'")
      ->capture_default_str();
  commands.reserve
      ->add_option("--parity", arguments.parity, "Parity of the first port: any, odd or even")
      ->check(cli::one_of({"any", "odd", "even"}))
      ->capture_default_str();
  commands.reserve->add_flag("--twice", arguments.twice, "Twice NAT: reserve on both sides");
  commands.reserve->add_flag("--ipv4", arguments.ipv4, "IPv4 (the default)");
  commands.reserve->add_flag("--ipv6", arguments.ipv6, "IPv6");
  commands.reserve->add_flag("--any-version", arguments.any_version,
                             "Let the middlebox choose the IP version");

  commands.disable =
      add_command(app, "disable", "Block traffic and end the rules that allow it (PDR)",
                  "  simcoctl disable --external 192.0.2.0/24 --lifetime 600");
  declare_tuples(*commands.disable, arguments);
  declare_lifetime(*commands.disable, arguments);
}

void declare_explain(CLI::App& app, Arguments& arguments, Commands& commands) {
  commands.explain = add_command(
      app, "explain", "Say what the middlebox does with a packet, and which rule decides",
      "  simcoctl explain 10.0.0.5:5004 192.0.2.7:6000 --udp --in");
  commands.explain
      ->add_option("INTERNAL", arguments.internal, "Internal end of the packet: ADDRESS[:PORT]")
      ->required();
  commands.explain
      ->add_option("EXTERNAL", arguments.external, "External end of the packet: ADDRESS[:PORT]")
      ->required();
  declare_protocol(*commands.explain, arguments);
  commands.explain->add_flag("--in", arguments.inbound,
                             "It comes from the external end (the default)");
  commands.explain->add_flag("--out", arguments.outbound, "It comes from the internal end");
}

void declare_inspect(CLI::App& command, Arguments& arguments) {
  command.add_option("--inspect", arguments.inspect,
                     "HOST:PORT where the middlebox tells (its --inspect) what rules have counted "
                     "(its --counters): show packets, octets and the time of the last packet");
}

}  // namespace

Commands declare(CLI::App& app, Arguments& arguments) {
  Commands commands{};
  declare_globals(app, arguments);
  declare_creation(app, arguments, commands);
  commands.lifetime = app.add_subcommand("lifetime", "Change the lifetime of a rule (PLC)");
  commands.lifetime->add_option("PID", arguments.pid, "Policy rule")
      ->required()
      ->check(cli::whole_number(1, kMost));
  commands.lifetime
      ->add_option("SECONDS", arguments.lifetime_s, "New lifetime, from now; 0 ends the rule")
      ->required()
      ->check(cli::whole_number(0, kMost));
  commands.remove = app.add_subcommand("delete", "End rules (PLC with lifetime 0)");
  commands.remove->add_option("PID", arguments.pids, "Policy rules")
      ->required()
      ->check(cli::whole_number(1, kMost));
  commands.status = app.add_subcommand("status", "Show rules (PRS)");
  commands.status->add_option("PID", arguments.pids, "Policy rules")
      ->required()
      ->check(cli::whole_number(1, kMost));
  declare_inspect(*commands.status, arguments);
  commands.list = app.add_subcommand("list", "List the rules that this agent may see (PRL)");
  commands.list->add_flag("--full", arguments.in_full, "Show each rule in a line of a table");
  declare_inspect(*commands.list, arguments);
  commands.watch =
      app.add_subcommand("watch", "Show rule events (ARE), with the time, until interrupted");
  commands.watch->add_flag("--full", arguments.in_full,
                           "Show the status of the rule with each event");
  commands.watch->add_option("--count", arguments.count, "Exit after this many events; 0: never")
      ->check(cli::whole_number(0, kMost));
  declare_explain(app, arguments, commands);
  commands.top = app.add_subcommand(
      "top", "Show what the middlebox is doing, using its metrics, until interrupted");
  commands.top
      ->add_option("--metrics", arguments.metrics,
                   "Where the middlebox serves its metrics: HOST:PORT")
      ->capture_default_str();
  commands.top->add_option("--interval", arguments.interval_s, "Time between updates, seconds")
      ->check(cli::number(0.1, 3600.0))
      ->capture_default_str();
  commands.top->add_option("--count", arguments.count, "Exit after this many updates; 0: never")
      ->check(cli::whole_number(0, kMost));
  return commands;
}

}  // namespace simco::ctl
