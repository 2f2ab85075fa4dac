// Declares the options of simco-middlebox, with their help texts and the ranges of their values.
#include "middlebox/config/arguments.hpp"

#include <CLI/CLI.hpp>

#include "middlebox/limits.hpp"
#include "middlebox/store/make_store.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/values.hpp"
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

std::vector<std::string> names_of(BackendTable backends) {
  std::vector<std::string> result;
  for (const auto& row : backends) result.emplace_back(row.name);
  return result;
}

void declare_limits(CLI::App& app, Arguments& arguments) {
  app.option_defaults()->group("Limits");
  auto& server = arguments.settings.server;
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
  app.add_option("--max-sessions", server.sessions_max, "Maximum number of open sessions")
      ->check(cli::whole_number(0, 0xFFFF'FFFF))
      ->capture_default_str();
}

void declare_listening(CLI::App& app, Arguments& arguments) {
  auto& server = arguments.settings.server;
  arguments.transport.declare(app, cli::Role::kListener);
  arguments.transport.declare_tls(app);
  app.add_option("--require", arguments.require,
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
  app.add_flag("--allow-anonymous", arguments.allow_anonymous,
               "Listen on non-loopback addresses even if agents need not authenticate");
}

void declare_rules(CLI::App& app, Arguments& arguments) {
  app.option_defaults()->group("Enforcement");
  app.add_option("--backend", arguments.backend, "What enforces the rules")
      ->check(cli::one_of(names_of(arguments.backends)))
      ->capture_default_str();
  app.add_option("--internal-if", arguments.settings.internal_if,
                 "Interface towards the internal network");
  app.add_option("--external-if", arguments.settings.external_if,
                 "Interface towards the external network");
  for (const auto& type : arguments.types) type->declare(app);
  app.option_defaults()->group("Firewall and NAT");
  app.add_option("--mode", arguments.mode,
                 "Type of middlebox: firewall, traditional NAT or twice NAT")
      ->check(cli::one_of({"firewall", "nat", "twice-nat"}))
      ->capture_default_str();
  app.add_option("--outside", arguments.outside,
                 "Outside address pool of a NAT: ADDR, ADDR-ADDR or PREFIX/LEN, comma-separated")
      ->delimiter(',');
  app.add_option("--inside", arguments.inside, "Inside address pool of a twice NAT")
      ->delimiter(',');
  app.add_option("--ports", arguments.ports, "Ports of the pools, LOW-HIGH")->capture_default_str();
  app.add_option("--address-pooling", arguments.pooling,
                 "paired (RFC 4787: one outside address per internal host) or arbitrary")
      ->check(cli::one_of({"paired", "arbitrary"}))
      ->capture_default_str();
  declare_limits(app, arguments);
  app.add_option("--message-timeout", arguments.message_timeout_s,
                 "Maximum silence within a message and before a session is open, seconds")
      ->check(cli::number(0.01, 86'400.0))
      ->capture_default_str();
}

}  // namespace

void declare(CLI::App& app, Arguments& arguments) {
  auto& server = arguments.settings.server;
  declare_listening(app, arguments);
  declare_rules(app, arguments);
  app.option_defaults()->group("Configuration and log");
  app.add_option("--config", arguments.config,
                 "TOML file: long option names as keys, and the agents; reread on SIGHUP");
  app.add_option(
         "--audit-rate", server.audit_rate,
         "Maximum number of rule changes to log per second, excess ones are only counted; 0: "
         "log none")
      ->check(cli::whole_number(0, 0xFFFF'FFFF))
      ->capture_default_str();
  app.add_option("--state", arguments.settings.state,
                 "Where to store rules so that they survive a restart: " + store::store_forms());
  app.add_option(
         "--state-sync", arguments.state_sync,
         "State file: when a rule counts as stored and its reply may be sent: disk (survives a "
         "power failure) or system (survives a crash of the process)")
      ->check(cli::one_of({"disk", "system"}))
      ->capture_default_str();
  app.add_option("--metrics", arguments.settings.metrics,
                 "ADDRESS:PORT to serve Prometheus metrics on, at /metrics");
  app.add_option("--inspect", arguments.settings.inspect,
                 "ADDRESS:PORT to tell the operator at what rules have counted (--counters), by "
                 "HTTP");
  app.add_flag("--check", arguments.settings.check_only,
               "Check the options and the configuration file, then exit");
  app.add_flag("--remove-rules", arguments.settings.remove_rules,
               "Remove from the kernel what an earlier run with these options has left, then exit");
  app.add_option("--log-level", arguments.settings.log_level, "Lowest level to log")
      ->check(cli::one_of({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--check-user", arguments.check_user,
                 "With --check as root: check as this user (default: User= of the service)");
  cli::declare_help(app);
  cli::set_layout(app, kExamples);
}

}  // namespace simco::middlebox
