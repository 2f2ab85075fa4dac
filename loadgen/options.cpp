// Declares the options of simco-loadgen and simco-echo, and checks their combinations.
#include "loadgen/options.hpp"

#include "agent/credentials.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>
#include <limits>

#include "loadgen/limits.hpp"
#include "simco/cli/transport_arguments.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {
namespace {

constexpr double kForever = 1e9;  // seconds; 30 years

UsageExit wrong(const std::string& program, const std::string& what) {
  return {program + ": " + what + " (--help lists the options)\n", 2};
}

std::optional<UsageExit> parse(CLI::App& app, const std::string& program, int argc,
                               const char* const* argv) {
  app.set_version_flag("--version", program + " " SIMCO_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return UsageExit{app.help(), 0};
  } catch (const CLI::CallForVersion& version) {
    return UsageExit{std::string(version.what()) + "\n", 0};
  } catch (const CLI::Error& error) {
    return wrong(program, error.what());
  }
  return std::nullopt;
}

/// How long it waits, and for what.
void declare_patience(CLI::App& app, GeneratorOptions& run, const CLI::Validator& positive) {
  app.add_option("--abort-lag", run.abort_lag_s,
                 "Stop if a message cannot be handed to the transport within this time after its "
                 "scheduled time, seconds")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--timeout", run.timeout_s, "Maximum time to wait for a reply, seconds")
      ->check(positive)
      ->capture_default_str();
}

void declare_output(CLI::App& app, Settings& settings) {
  app.add_flag("--hold", settings.hold,
               "When all connections are open, print 'connected' on standard error and wait for "
               "a line on standard input");
  app.add_option("--json", settings.json, "File to write results to; -: standard output");
  app.add_option("--samples", settings.samples, "CSV file to write one line per transaction to");
}

}  // namespace

std::expected<Settings, UsageExit> parse_settings(int argc, const char* const* argv) {
  const std::string program = "simco-loadgen";
  Settings settings;
  GeneratorOptions& run = settings.generator;
  std::string connect = "127.0.0.1:7626";
  std::string name;
  std::string secret_file;
  std::uint64_t count = 0;
  CLI::App app("Open-loop load generator for SIMCO (RFC 4540)", program);
  const auto positive = CLI::Range(std::numeric_limits<double>::min(), kForever);
  app.add_option("--connect", connect, "Middlebox: HOST[,HOST...][:PORT]")->capture_default_str();
  cli::TransportArguments transport;
  transport.declare(app, cli::Role::kAgent);
  transport.declare_tls(app);
  app.add_flag("--unordered", settings.unordered,
               "SCTP: send echo messages unordered, even within a stream");
  app.add_option("--connections", settings.connections,
                 "Number of parallel connections or associations")
      ->check(CLI::Range(std::uint32_t{1}, kConnectionsMax))
      ->capture_default_str();
  app.add_option("--workload", settings.workload,
                 "per: PER transactions; echo: messages to simco-echo")
      ->check(CLI::IsMember({"per", "echo"}))
      ->capture_default_str();
  app.add_option("--rules", settings.rules, "Rules to keep; older ones are deleted; 0: keep all");
  app.add_option("--name", name, "Name of this agent, if the middlebox requires authentication");
  app.add_option("--secret-file", secret_file, "File with this agent's secret");
  app.add_option("--rate", run.rate, "Offered load, transactions per second")
      ->check(CLI::Range(1e-6, kRateMax))
      ->capture_default_str();
  app.add_option("--arrivals", settings.arrivals, "Arrival process: poisson or constant")
      ->check(CLI::IsMember({"poisson", "constant"}))
      ->capture_default_str();
  auto* by_count = app.add_option("--count", count, "Number of transactions to measure")
                       ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  app.add_option("--duration", run.duration_s, "Duration of the measurement, seconds")
      ->check(positive)
      ->excludes(by_count)
      ->capture_default_str();
  app.add_option("--warmup", run.warmup,
                 "Number of transactions to send first, without counting them")
      ->capture_default_str();
  declare_patience(app, run, positive);
  app.add_option("--seed", run.seed, "Seed of the arrival process")->capture_default_str();
  declare_output(app, settings);
  if (const auto exit = parse(app, program, argc, argv)) return std::unexpected(*exit);

  if (const auto fault = transport.fault()) return std::unexpected(wrong(program, *fault));
  settings.transport = transport.options();
  if (settings.transport.tls && settings.workload == "echo") {
    return std::unexpected(
        wrong(program, "TLS requires --workload per: simco-echo does not support TLS"));
  }
  if (settings.unordered &&
      (settings.workload != "echo" || !net::type_of(settings.transport.transport).unordered)) {
    return std::unexpected(wrong(program,
                                 "--unordered requires --workload echo --transport sctp: "
                                 "SIMCO messages are always ordered"));
  }
  const auto target = net::parse_host_port(connect, kSimcoPort);
  if (!target) return std::unexpected(wrong(program, "--connect: " + target.error()));
  settings.target = *target;
  if (!name.empty() || !secret_file.empty()) {
    auto credentials = agent::read_credentials(name, secret_file);
    if (!credentials) return std::unexpected(wrong(program, credentials.error()));
    settings.credentials = std::move(*credentials);
  }
  run.arrivals = settings.arrivals == "poisson" ? Arrivals::kPoisson : Arrivals::kConstant;
  if (by_count->count() != 0) run.count = count;
  return settings;
}

std::expected<net::ListenOptions, UsageExit> parse_echo_settings(int argc,
                                                                 const char* const* argv) {
  const std::string program = "simco-echo";
  net::ListenOptions settings;
  cli::TransportArguments transport;
  CLI::App app("Echo server for simco-loadgen --workload echo", program);
  transport.declare(app, cli::Role::kListener);
  app.add_option("--listen", settings.addresses, "Addresses to listen on, comma-separated")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--port", settings.port, "Port to listen on; 0: any free port")
      ->capture_default_str();
  if (const auto exit = parse(app, program, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = transport.fault()) return std::unexpected(wrong(program, *fault));
  settings.transports = transport.transports();
  settings.sctp = transport.sctp();
  for (const auto& address : settings.addresses) {
    boost::system::error_code error;
    boost::asio::ip::make_address(address, error);
    if (error) {
      return std::unexpected(
          wrong(program, "--listen: expected an IP address, got '" + address + "'"));
    }
  }
  return settings;
}

}  // namespace simco::loadgen
