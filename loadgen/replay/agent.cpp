// Plans the messages of simco-loadgen, and turns what has happened into its samples.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "loadgen/limits.hpp"
#include "loadgen/output_file.hpp"
#include "loadgen/recorder.hpp"
#include "loadgen/replay/ends.hpp"
#include "loadgen/replay/plan.hpp"
#include "loadgen/schedule.hpp"
#include "simco/net/bare_socket.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen::replay {
namespace {

using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds(std::chrono::nanoseconds time) { return time.count(); }

/// When simco-loadgen opens its connections, and when its schedule begins. Times are of
/// CLOCK_MONOTONIC, nanoseconds.
struct Times {
  std::int64_t opened;
  std::int64_t start;
};

/// Its timer counts microseconds from when it was set: by its look at the connections each
/// kWatchInterval, or for the first transaction if that comes before the next look.
std::int64_t set_at(const Times& times, std::int64_t first_due) {
  const auto interval = nanoseconds(kWatchInterval);
  const auto begun = times.start - nanoseconds(kStartDelay);
  const auto next_look = begun + interval - (begun - times.opened) % interval;
  return first_due < next_look ? begun : times.opened;
}

std::int64_t on_timer(std::int64_t time, std::int64_t set) {
  constexpr std::int64_t kMicrosecond = 1000;
  return set + (time - set + kMicrosecond - 1) / kMicrosecond * kMicrosecond;
}

/// The sockets of a run.
struct Connections {
  std::vector<net::BareSocket> sockets;
  std::vector<Place> places;
};

Connections connect(const Settings& settings, const Script& script, int device) {
  Connections result;
  for (std::uint32_t i = 0; i < settings.connections; ++i) {
    const auto& socket = result.sockets.emplace_back(
        net::BareSocket::connected(settings.transport, settings.target));
    result.places.push_back({socket.local(), socket.streams()});
    script.open(socket);
    hand_over(device, REPLAY_CONNECTION, socket);
  }
  return result;
}

/// As simco-loadgen's --hold.
void wait_for_start() {
  std::fputs("connected\n", stderr);
  for (char c = 0; c != '\n' && ::read(STDIN_FILENO, &c, 1) == 1;) {
  }
}

void set_rules(replay_plan& plan, const Settings& settings) {
  const auto in_ns = [](double seconds) { return static_cast<std::int64_t>(seconds * 1e9); };
  plan.connections = settings.connections;
  plan.repeats = net::type_of(settings.transport.transport).reliable ? 0 : 1;
  plan.thin_ns = static_cast<std::uint32_t>(nanoseconds(net::thin_flow_gap(settings.transport)));
  plan.timeout_ns = in_ns(settings.generator.timeout_s);
  plan.drain_ns = in_ns(settings.workload().drain_s().value_or(0));
  plan.lag_ns = in_ns(settings.generator.abort_lag_s);
}

Plan planned(const Settings& settings, const Script& script, const Connections& connections,
             const Times& times) {
  Plan plan;
  set_rules(plan.is, settings);
  Offer offer(settings.generator);
  const auto set = set_at(times, times.start + offer.next_ns());
  while (!offer.over()) {
    const auto sample = offer.take(0);
    replay_message message{};
    message.due_ns = on_timer(times.start + sample.scheduled_ns, set);
    message.connection = static_cast<std::uint16_t>(sample.index % settings.connections);
    const auto& place = connections.places[message.connection];
    const auto exchange = script.exchange(sample.index, place);
    if (plan.messages.empty()) script.complete(plan.is, exchange);
    message.number = exchange.number;
    message.stream = static_cast<std::uint16_t>(exchange.number % place.streams);
    message.unordered = settings.unordered ? 1 : 0;
    message.request_at = plan.add(exchange.request);
    message.request_size = static_cast<std::uint32_t>(exchange.request.size());
    message.response_at = plan.add(exchange.response);
    message.response_size = static_cast<std::uint32_t>(exchange.response.size());
    message.later_at = plan.add(exchange.later);
    message.later_size = static_cast<std::uint32_t>(exchange.later.size());
    plan.messages.push_back(message);
  }
  return plan;
}

/// Runs the plan, and returns why it was aborted, or nothing.
std::string run(int device, const Plan& plan) {
  plan.write(device);
  if (::ioctl(device, REPLAY_RUN) == 0) return {};
  if (errno == ETIME) return "a message was still not handed to the transport after --abort-lag";
  return std::string("connection lost: ") + std::strerror(errno);
}

/// Records what has happened to a message.
void record(Sample sample, const replay_message& message, std::uint64_t warmup,
            std::int64_t start_ns, Recorder& recorder) {
  const auto after = [start_ns](std::int64_t time) { return time == 0 ? -1 : time - start_ns; };
  sample.key = TransactionKey{message.number};
  sample.index -= warmup;
  sample.tried_ns = after(message.tried_ns);
  sample.sent_ns = after(message.sent_ns);
  sample.received_ns = after(message.answered_ns);
  sample.stream = net::StreamId{message.stream};
  const bool done = message.response_size != 0 ? message.answered_ns != 0 : message.sent_ns != 0;
  if (done) sample.outcome = Outcome::kCompleted;
  if (!done && message.lost != 0) sample.outcome = Outcome::kTimedOut;
  recorder.offered();
  recorder.finished(sample, std::nullopt);
}

ordered_json document(const ordered_json& parameters, const Plan& plan, const Recorder& recorder) {
  std::uint64_t copies = 0;
  std::uint64_t further = 0;
  std::uint64_t late = 0;
  for (const auto& message : plan.messages) {
    if (message.sent > 1) copies += message.sent - 1;
    if (message.sent > 2) further += message.sent - 2;
    late += message.late;
  }
  const auto& counts = recorder.counts();
  const auto lag = recorder.lag().summary();
  return {{"version", 1},
          {"parameters", parameters},
          {"transactions",
           {{"offered", counts.offered},
            {"sent", counts.sent},
            {"completed", counts.completed},
            {"refused", counts.refused},
            {"timed_out", counts.timed_out}}},
          {"workload_stats",
           {{"retransmissions", copies},
            {"further_retransmissions", further},
            {"late_responses", late}}},
          {"generator_lag_ms", {{"p50", lag.p50}, {"p99", lag.p99}, {"max", lag.max}}}};
}

}  // namespace

int offer(const Settings& settings, const Script& script) {
  if (!settings.generator.count) throw std::runtime_error("a replay needs --count");
  if (!net::type_of(settings.transport.transport).reliable && settings.connections > 1) {
    throw std::runtime_error("over a transport that loses messages a replay has one connection");
  }
  ordered_json parameters;
  settings.workload().write_parameters(parameters, settings.generator.seed);
  const Device device;
  Times times{};
  times.opened = nanoseconds(Clock::now().time_since_epoch());
  const auto connections = connect(settings, script, device.fd());
  if (settings.hold) wait_for_start();
  times.start = nanoseconds((Clock::now() + kStartDelay).time_since_epoch());
  const auto reason = run(device.fd(), planned(settings, script, connections, times));
  const auto figures_at_the_end = net::figures_of(connections.sockets);
  const Plan plan = Plan::read(device.fd());
  net::finish(connections.sockets);
  Recorder recorder(true);
  Offer again(settings.generator);
  for (const auto& message : plan.messages) {
    if (message.tried_ns == 0) break;  // aborted before it was due
    const auto sample = again.take(0);
    if (again.measured(sample)) {
      record(sample, message, settings.generator.warmup, times.start, recorder);
    }
  }
  auto json = document(parameters, plan, recorder);
  json["start_ns"] = times.start;
  json["aborted"] = !reason.empty();
  json["abort_reason"] = reason.empty() ? ordered_json(nullptr) : ordered_json(reason);
  json["transport_stats"] = figures_at_the_end;
  for (const auto& written :
       {write_text(settings.json, json.dump(1) + "\n"), recorder.write_samples(settings.samples)}) {
    if (!written) throw std::runtime_error(written.error());
  }
  return 0;
}

}  // namespace simco::loadgen::replay
