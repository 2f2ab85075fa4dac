// Formats the results: a table with a row per distribution, notes about refusals and lateness, and
// the JSON document of doc/measuring.md.
#include "loadgen/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "loadgen/limits.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {
namespace {

using nlohmann::ordered_json;

double elapsed_s(const Recorder& recorder) {
  return static_cast<double>(std::max<std::int64_t>(recorder.last_ns() - recorder.first_ns(), 0)) /
         1e9;
}

double rate_achieved(const Recorder& recorder) {
  const double elapsed = elapsed_s(recorder);
  return elapsed > 0 ? static_cast<double>(recorder.counts().completed) / elapsed : 0;
}

std::string row(const char* name, const Summary& s) {
  if (s.count == 0) return fmt::format("{:<22}{:>9}\n", name, "-");
  const auto ci = s.ci95 ? fmt::format("{:.3f}", *s.ci95) : std::string("-");
  return fmt::format(
      "{:<22}{:>9.3f}{:>9}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}{:>9.3f}\n", name,
      s.mean, ci, s.stddev, s.min, s.p50, s.p90, s.p95, s.p99, s.p999, s.max);
}

/// "tcp", "tcp with TLS", or "sctp (userland, 16 streams)".
std::string transport(const Results& results) {
  const auto& options = results.settings.transport;
  const auto& type = net::type_of(options.transport);
  if (!type.streams) return fmt::format("{}{}", type.name, options.tls ? " with TLS" : "");
  return fmt::format("{} ({}, {} streams{})", type.name, net::stack_name(options),
                     results.generator.outbound_streams(),
                     results.settings.unordered ? ", unordered" : "");
}

std::string notes(const Results& results) {
  std::string text;
  if (const auto& reason = results.generator.abort_reason()) {
    text += fmt::format("aborted: {}\n", *reason);
  }
  for (const auto& [code, count] : results.recorder.refusals()) {
    const auto refusal = results.settings.workload().describe(code);
    text += fmt::format("refused {} times: {} ({})\n", count, refusal.text, refusal.name);
  }
  const auto response = results.recorder.response().summary();
  const auto lag = results.recorder.lag().summary();
  if (lag_matters(lag, response)) {
    text += fmt::format(
        "note: the generator itself was up to {:.3f} ms late for 99 % of transactions; this "
        "machine "
        "is too busy for more precise results\n",
        lag.p99);
  }
  return text;
}

ordered_json to_json(const Summary& s) {
  const auto optional = [](const std::optional<double>& value) {
    return value ? ordered_json(*value) : ordered_json(nullptr);
  };
  return {{"mean", s.mean},
          {"ci95", optional(s.ci95)},
          {"stddev", s.stddev},
          {"min", s.min},
          {"p50", s.p50},
          {"p90", s.p90},
          {"p95", s.p95},
          {"p99", s.p99},
          {"p999", s.p999},
          {"max", s.max},
          {"ci95_independent", optional(s.ci95_independent)},
          {"lag1_correlation", optional(s.lag1_correlation)},
          {"batches", s.batches}};
}

/// Adds the settings of every transport, by the names of the options.
void write_options(const net::TransportSettings& settings, ordered_json& values) {
  using Kind = net::TransportOption::Kind;
  for (const auto& type : net::transport_types()) {
    for (const auto& option : type.options()) {
      std::string name = option.name;
      std::ranges::replace(name, '-', '_');
      switch (option.kind) {
        case Kind::kNumber: values[name] = option.get(settings); break;
        case Kind::kFlag: values[name] = option.get(settings) != 0; break;
        case Kind::kChoice: values[name] = option.text(settings); break;
      }
    }
  }
}

ordered_json parameters(const Results& results) {
  const Settings& s = results.settings;
  const GeneratorOptions& g = s.generator;
  ordered_json values = {{"connect", fmt::format("{}:{}", s.target.host, s.target.port)},
                         {"transport", to_string(s.transport.transport)},
                         {"transport_stack", net::stack_name(s.transport)},
                         {"tls", s.transport.tls != nullptr}};
  write_options(s.transport.settings, values);
  values.update({{"unordered", s.unordered},
                 {"outbound_streams", results.generator.outbound_streams()},
                 {"inbound_streams", results.generator.inbound_streams()},
                 {"connections", s.connections},
                 {"workload", s.type().name}});
  for (const auto& workload : s.workloads) workload->write_parameters(values, g.seed);
  values["rate"] = g.rate;
  values["arrivals"] = s.arrivals;
  values["count"] = g.count ? ordered_json(*g.count) : ordered_json(nullptr);
  values["duration"] = g.count ? ordered_json(nullptr) : ordered_json(g.duration_s);
  values["warmup"] = g.warmup;
  values["abort_lag"] = g.abort_lag_s;
  values["timeout"] = g.timeout_s;
  values["seed"] = g.seed;
  values["json"] = s.json;
  values["samples"] = s.samples;
  return values;
}

}  // namespace

bool lag_matters(const Summary& lag, const Summary& response) {
  return lag.p99 > kLagUsual_ms && lag.p99 > response.p99 / 2;
}

bool all_positive(const Results& results) {
  const Counts& counts = results.recorder.counts();
  return !results.generator.abort_reason() && counts.completed == counts.offered &&
         results.generator.housekeeping().refused == 0;
}

std::string table(const Results& results) {
  const Settings& s = results.settings;
  const Counts& c = results.recorder.counts();
  std::string text =
      fmt::format("{} over {}, {} connection{}, {} arrivals at {:g}/s, seed {}\n", s.type().name,
                  transport(results), s.connections, s.connections == 1 ? "" : "s", s.arrivals,
                  s.generator.rate, s.generator.seed);
  text += fmt::format("transactions: {} offered, {} sent, {} completed, {} refused, {} timed out",
                      c.offered, c.sent, c.completed, c.refused, c.timed_out);
  const auto remark = s.workload().remark(results.generator.housekeeping());
  if (!remark.empty()) text += "; " + remark;
  text += fmt::format("\nachieved {:.1f}/s over {:.3f} s\n\n", rate_achieved(results.recorder),
                      elapsed_s(results.recorder));
  text += fmt::format("{:<22}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n", "milliseconds",
                      "mean", "+-95%", "stddev", "min", "p50", "p90", "p95", "p99", "p99.9", "max");
  text += row("response (scheduled)", results.recorder.response().summary());
  text += row("service (sent)", results.recorder.service().summary());
  text += row("generator lag", results.recorder.lag().summary());
  const auto extra = notes(results);
  return extra.empty() ? text : text + "\n" + extra;
}

std::string json(const Results& results) {
  const Recorder& recorder = results.recorder;
  const Counts& c = recorder.counts();
  ordered_json transport = ordered_json::object();
  for (const auto& figure : results.generator.transport_statistics()) {
    transport[figure.name] = figure.value;
  }
  ordered_json refusals = ordered_json::object();
  for (const auto& [code, count] : recorder.refusals()) {
    refusals[results.settings.workload().describe(code).name] = count;
  }
  const auto& reason = results.generator.abort_reason();
  const auto lag = recorder.lag().summary();
  ordered_json document = {{"version", 1},
                           {"parameters", parameters(results)},
                           {"transactions",
                            {{"offered", c.offered},
                             {"sent", c.sent},
                             {"completed", c.completed},
                             {"refused", c.refused},
                             {"timed_out", c.timed_out}}},
                           {"refusals", refusals}};
  // The document has the same members for every workload.
  for (const WorkloadType& type : workload_types()) {
    if (type.housekeeping == nullptr) continue;
    const bool chosen = &type == &results.settings.type();
    document[type.housekeeping] = chosen ? results.generator.housekeeping().done : 0;
  }
  ordered_json tallies = ordered_json::object();
  for (const Tally& tally : results.generator.tallies()) tallies[tally.name] = tally.count;
  document["workload_stats"] = tallies;
  document["start_ns"] = results.generator.start().time_since_epoch().count();
  document["elapsed_s"] = elapsed_s(recorder);
  document["rate_achieved"] = rate_achieved(recorder);
  document["aborted"] = reason.has_value();
  document["abort_reason"] = reason ? ordered_json(*reason) : ordered_json(nullptr);
  document["response_time_ms"] = to_json(recorder.response().summary());
  document["service_time_ms"] = to_json(recorder.service().summary());
  document["generator_lag_ms"] = {{"p50", lag.p50}, {"p99", lag.p99}, {"max", lag.max}};
  document["transport_stats"] = transport;
  return document.dump(1) + "\n";
}

std::string duration_text(double seconds) {
  constexpr double kMost = 1e9;  // 30 years
  if (!(seconds < kMost)) return "30 years or more";
  const auto whole = static_cast<long>(std::ceil(seconds));
  constexpr long kMinute = 60;
  constexpr long kHour = 60 * kMinute;
  if (whole < 2 * kMinute) return fmt::format("{} s", whole);
  if (whole < 2 * kHour) return fmt::format("{} min {} s", whole / kMinute, whole % kMinute);
  return fmt::format("{} h {} min", whole / kHour, whole % kHour / kMinute);
}

std::string plan_text(const GeneratorOptions& options) {
  const auto time = duration_text(schedule_length_s(options));
  const auto warmup =
      options.warmup == 0 ? std::string() : fmt::format(" after {} to warm up", options.warmup);
  return options.count ? fmt::format("{} transactions at {}/s{}: about {}", *options.count,
                                     options.rate, warmup, time)
                       : fmt::format("{}/s{}: about {}", options.rate, warmup, time);
}

std::string progress_text(const Generator::Progress& progress) {
  return fmt::format("{:>10}  {:>10} offered  {:>10} answered  {:>7} in flight  {:>10} left",
                     duration_text(std::max(progress.elapsed_s, 0.0)), progress.offered,
                     progress.finished, progress.in_flight, duration_text(progress.left_s));
}

}  // namespace simco::loadgen
