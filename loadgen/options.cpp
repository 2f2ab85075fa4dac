// Declares the options of simco-loadgen, and checks their combinations.
#include "loadgen/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "loadgen/limits.hpp"
#include "simco/cli/command_line.hpp"
#include "simco/cli/transport_arguments.hpp"
#include "simco/cli/values.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {
namespace {

/// For the rate of arrivals that are all due at once, seconds.
constexpr double kShortest_s = 1e-9;

CLI::Validator positive() { return cli::number(std::numeric_limits<double>::min(), kSecondsMax); }

/// When transactions are due, and how many. Returns the option whose value is `count`.
const CLI::Option* declare_schedule(CLI::App& app, Settings& settings, std::uint64_t& count) {
  GeneratorOptions& run = settings.generator;
  auto* by_rate = app.add_option("--rate", run.rate, "Offered load, transactions per second")
                      ->check(cli::number(1e-6, kRateMax))
                      ->capture_default_str();
  auto* by_process =
      app.add_option("--arrivals", settings.arrivals, "Arrival process: poisson or constant")
          ->check(cli::one_of({"poisson", "constant"}))
          ->capture_default_str();
  auto* by_count = app.add_option("--count", count, "Number of transactions to measure")
                       ->check(cli::whole_number(1, std::uint64_t{1} << 32));
  auto* by_duration =
      app.add_option("--duration", run.duration_s, "Duration of the measurement, seconds")
          ->check(positive())
          ->excludes(by_count)
          ->capture_default_str();
  app.add_option("--warmup", run.warmup,
                 "Number of transactions to send first, without counting them")
      ->capture_default_str();
  app.add_option(
         "--arrivals-file", settings.arrivals_file,
         "File with the times at which transactions are due, seconds after the start, one a "
         "line in ascending order")
      ->excludes(by_rate, by_process, by_count, by_duration);
  return by_count;
}

/// Reads --arrivals-file, if it is given. Returns what is wrong with it.
std::optional<std::string> read_schedule(Settings& settings) {
  if (settings.arrivals_file.empty()) return std::nullopt;
  GeneratorOptions& run = settings.generator;
  auto due = read_due_times(settings.arrivals_file);
  if (!due) return "--arrivals-file: " + due.error();
  run.due = std::move(*due);
  settings.arrivals = "file";
  if (run.warmup >= run.due.size()) return "--warmup leaves nothing of --arrivals-file";
  run.count = run.due.size() - run.warmup;
  const double length_s = static_cast<double>(run.due.back()) / 1e9;
  run.rate = static_cast<double>(run.due.size()) / std::max(length_s, kShortest_s);
  return std::nullopt;
}

constexpr const char* kExamples =
    "  simco-loadgen --rate 1000 --duration 10\n"
    "      PER transactions with a simco-middlebox on this host\n"
    "  simco-loadgen --connect box.example.org --connections 4 --rate 500 --count 20000\n"
    "      over four connections\n"
    "  simco-loadgen --rate 200 --warmup 100 --json results.json --samples samples.csv\n"
    "      with results and every transaction in files";

/// How long it waits, and for what.
void declare_patience(CLI::App& app, GeneratorOptions& run) {
  app.add_option("--abort-lag", run.abort_lag_s,
                 "Stop if a message cannot be handed to the transport within this time after its "
                 "scheduled time, seconds; 0: never")
      ->check(cli::number(0, kSecondsMax))
      ->capture_default_str();
  app.add_option("--timeout", run.timeout_s, "Maximum time to wait for a reply, seconds")
      ->check(positive())
      ->capture_default_str();
}

void declare_output(CLI::App& app, Settings& settings) {
  app.option_defaults()->group("Output");
  app.add_flag("--hold", settings.hold,
               "When all connections are open, print 'connected' on standard error and wait for "
               "a line on standard input");
  app.add_option("--json", settings.json, "File to write results to; -: standard output");
  app.add_option("--samples", settings.samples, "CSV file to write one line per transaction to");
}

/// Checks what the workload can do over this transport, and the options of all workloads.
std::optional<std::string> workload_fault(const Settings& settings) {
  const WorkloadType& type = settings.type();
  const auto& transport = net::type_of(settings.transport.transport);
  if (!transport.reliable && type.no_loss != nullptr) {
    return fmt::format("--transport {} requires --workload {}: {}", transport.name,
                       workloads_without(&WorkloadType::no_loss), type.no_loss);
  }
  if (settings.unordered && (type.no_unordered != nullptr || !transport.unordered)) {
    return fmt::format("--unordered requires --workload {} --transport {}: {}",
                       workloads_without(&WorkloadType::no_unordered),
                       net::transport_names(" or ", &net::TransportType::unordered),
                       type.no_unordered != nullptr
                           ? type.no_unordered
                           : fmt::format("{} has no choice of order", transport.name));
  }
  return settings.workloads[settings.chosen]->fault(settings.transport);
}

/// Options that a workload has declared, and its position in the table.
using WorkloadOptions = std::vector<std::pair<std::size_t, const CLI::Option*>>;

WorkloadOptions declare_workloads(CLI::App& app, const Settings& settings) {
  WorkloadOptions result;
  for (std::size_t i = 0; i < settings.workloads.size(); ++i) {
    const auto before = app.get_options().size();
    settings.workloads[i]->declare(app);
    const auto all = app.get_options();
    for (auto at = before; at < all.size(); ++at) result.emplace_back(i, all[at]);
  }
  return result;
}

/// Returns a complaint about an option of a workload that was not chosen, if one is given.
std::optional<std::string> misplaced(const WorkloadOptions& options, std::size_t chosen) {
  for (const auto& [workload, option] : options) {
    if (workload == chosen || option->count() == 0) continue;
    return fmt::format("{} requires --workload {}", option->get_name(),
                       workload_types()[workload].name);
  }
  return std::nullopt;
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv) {
  Settings settings;
  GeneratorOptions& run = settings.generator;
  for (const auto& type : workload_types()) settings.workloads.push_back(type.make());
  std::string connect = "127.0.0.1";
  std::string workload = settings.type().name;
  std::uint64_t count = 0;
  CLI::App app("Open-loop load generator for SIMCO (RFC 4540) and SIP", kProgram);
  cli::set_layout(app, kExamples);
  app.option_defaults()->group(cli::kConnectionGroup);
  app.add_option("--connect", connect, "Middlebox or server: HOST[,HOST...][:PORT]")
      ->default_str(fmt::format("{}:{}", connect, settings.type().port));
  cli::TransportArguments transport;
  transport.declare(app, cli::Role::kAgent, net::Need::kAny);
  transport.declare_tls(app);
  app.add_flag("--unordered", settings.unordered,
               fmt::format("With --transport {}: send {} messages unordered, even within a stream",
                           net::transport_names(" or ", &net::TransportType::unordered),
                           workloads_without(&WorkloadType::no_unordered)));
  app.add_option("--connections", settings.connections,
                 "Number of parallel connections or associations")
      ->check(cli::whole_number(1, kConnectionsMax))
      ->capture_default_str();
  app.option_defaults()->group("Workload");
  app.add_option("--workload", workload, workload_summaries())
      ->check(cli::one_of(workload_names()))
      ->capture_default_str();
  const auto of_workloads = declare_workloads(app, settings);
  app.option_defaults()->group("Load");
  const auto* by_count = declare_schedule(app, settings, count);
  declare_patience(app, run);
  app.add_option("--seed", run.seed, "Seed of the arrival process")->capture_default_str();
  declare_output(app, settings);
  app.option_defaults()->group("Other");
  cli::declare_help(app);
  if (const auto exit = cli::parse(app, argc, argv)) return std::unexpected(*exit);

  if (const auto fault = transport.fault()) return std::unexpected(cli::wrong(app, *fault));
  if (const auto remark = transport.remark()) cli::complain(kProgram, *remark);
  settings.transport = transport.options();
  settings.chosen = *find_workload(workload);
  if (const auto fault = misplaced(of_workloads, settings.chosen)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  if (const auto fault = workload_fault(settings)) return std::unexpected(cli::wrong(app, *fault));
  const auto target = net::parse_host_port(connect, settings.type().port);
  if (!target) return std::unexpected(cli::wrong(app, "--connect: " + target.error()));
  settings.target = *target;
  run.arrivals = settings.arrivals == "poisson" ? Arrivals::kPoisson : Arrivals::kConstant;
  if (by_count->count() != 0) run.count = count;
  if (const auto fault = read_schedule(settings)) {
    return std::unexpected(cli::wrong(app, *fault));
  }
  run.drain_s = settings.workload().drain_s();
  return settings;
}

}  // namespace simco::loadgen
