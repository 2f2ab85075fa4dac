// Declares the options of simco-loadgen, and checks their combinations.
#include "loadgen/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "loadgen/limits.hpp"
#include "simco/cli/options.hpp"
#include "simco/cli/transport_arguments.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {
namespace {

/// For the rate of arrivals that are all due at once, seconds.
constexpr double kShortest_s = 1e-9;

/// The shortest of times that are not 0, seconds.
constexpr double kPositive_s = std::numeric_limits<double>::min();

/// When transactions are due, and how many.
void declare_schedule(cli::Options& options, Settings& settings) {
  GeneratorOptions& run = settings.generator;
  options.number("--rate", run.rate, "Offered load, transactions per second", 1e-6, kRateMax);
  options.choice("--arrivals", settings.arrivals, "Arrival process: poisson or constant",
                 {"poisson", "constant"});
  options.whole("--count", run.count, "Number of transactions to measure", 1,
                std::uint64_t{1} << 32);
  options
      .number("--duration", run.duration_s, "Duration of the measurement, seconds", kPositive_s,
              kSecondsMax)
      .excludes = {"--count"};
  options.whole("--warmup", run.warmup,
                "Number of transactions to send first, without counting them");
  options
      .text("--arrivals-file", settings.arrivals_file,
            "File with the times at which transactions are due, seconds after the start, one a "
            "line in ascending order")
      .excludes = {"--rate", "--arrivals", "--count", "--duration"};
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
void declare_patience(cli::Options& options, GeneratorOptions& run) {
  options.number("--abort-lag", run.abort_lag_s,
                 "Stop if a message cannot be handed to the transport within this time after its "
                 "scheduled time, seconds; 0: never",
                 0, kSecondsMax);
  options.number("--timeout", run.timeout_s, "Maximum time to wait for a reply, seconds",
                 kPositive_s, kSecondsMax);
}

void declare_output(cli::Options& options, Settings& settings) {
  options.group("Output");
  options.flag("--hold", settings.hold,
               "When all connections are open, print 'connected' on standard error and wait for "
               "a line on standard input");
  options.text("--json", settings.json, "File to write results to; -: standard output");
  options.text("--samples", settings.samples, "CSV file to write one line per transaction to");
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

/// The values of options that need further reading.
struct Arguments {
  std::string connect = "127.0.0.1";
  std::string workload = workload_types().front().name;
  cli::TransportArguments transport;
  /// Where in the table the options of each workload end; they begin where those of the one before
  /// end.
  std::vector<std::size_t> ends;
};

void declare(cli::Options& options, Arguments& arguments, Settings& settings) {
  options.group(cli::kConnectionGroup);
  options
      .text("--connect", arguments.connect,
            "Middlebox or server: HOST[,HOST...][:PORT]; connections begin with these in turn")
      .default_text = fmt::format("{}:{}", arguments.connect, settings.type().port);
  arguments.transport.declare(options, net::Need::kAny);
  arguments.transport.declare_tls(options);
  options.flag("--unordered", settings.unordered,
               fmt::format("With --transport {}: send {} messages unordered, even within a stream",
                           net::transport_names(" or ", &net::TransportType::unordered),
                           workloads_without(&WorkloadType::no_unordered)));
  options.whole("--connections", settings.connections,
                "Number of parallel connections or associations", 1, kConnectionsMax);
  options.flag("--reconnect", settings.generator.reconnect,
               "Open a lost connection again, as agents do, and send its requests without a reply "
               "again");
  options.number("--move-after", settings.generator.move_after_s,
                 "Send a request again over the next connection after so long without a reply, "
                 "seconds; 0: never",
                 0, kSecondsMax);
  options.group("Workload");
  options.choice("--workload", arguments.workload, workload_summaries(), workload_names());
  arguments.ends = {options.rows().size()};
  for (const auto& workload : settings.workloads) {
    workload->declare(options);
    arguments.ends.push_back(options.rows().size());
  }
  options.group("Load");
  declare_schedule(options, settings);
  declare_patience(options, settings.generator);
  options.whole("--seed", settings.generator.seed, "Seed of the arrival process");
  declare_output(options, settings);
  options.group("Other");
}

/// Returns a complaint about an option of a workload that was not chosen, if one is given.
std::optional<std::string> misplaced(const cli::Options& options, const Arguments& arguments,
                                     std::size_t chosen) {
  for (std::size_t i = 0; i + 1 < arguments.ends.size(); ++i) {
    for (auto at = arguments.ends[i]; i != chosen && at < arguments.ends[i + 1]; ++at) {
      const auto& row = options.rows()[at];
      if (row.given.empty()) continue;
      return fmt::format("{} requires --workload {}", row.name, workload_types()[i].name);
    }
  }
  return std::nullopt;
}

/// Checks the options against each other, and takes them over.
std::optional<std::string> complete(const cli::Options& options, Arguments& arguments,
                                    Settings& settings) {
  if (auto fault = arguments.transport.fault()) return fault;
  if (const auto remark = arguments.transport.remark()) cli::complain(kProgram, *remark);
  settings.transport = arguments.transport.options();
  settings.chosen = *find_workload(arguments.workload);
  if (auto fault = misplaced(options, arguments, settings.chosen)) return fault;
  if (auto fault = workload_fault(settings)) return fault;
  const auto target = net::parse_host_port(arguments.connect, settings.type().port);
  if (!target) return "--connect: " + target.error();
  settings.target = *target;
  GeneratorOptions& run = settings.generator;
  run.arrivals = settings.arrivals == "poisson" ? Arrivals::kPoisson : Arrivals::kConstant;
  if (auto fault = read_schedule(settings)) return fault;
  run.drain_s = settings.workload().drain_s();
  return std::nullopt;
}

}  // namespace

std::expected<Settings, cli::UsageExit> parse_settings(int argc, const char* const* argv) {
  Settings settings;
  Arguments arguments;
  for (const auto& type : workload_types()) settings.workloads.push_back(type.make());
  cli::Options options(kProgram, "Open-loop load generator for SIMCO (RFC 4540) and SIP",
                       kExamples);
  declare(options, arguments, settings);
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = complete(options, arguments, settings)) {
    return std::unexpected(cli::wrong(options, *fault));
  }
  return settings;
}

}  // namespace simco::loadgen
