// Encodes the messages of agent and middlebox, and opens the session.
#include "loadgen/per/per_script.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "loadgen/limits.hpp"
#include "loadgen/per/per_client.hpp"
#include "simco/cli/options.hpp"
#include "simco/cli/transport_arguments.hpp"
#include "simco/wire/codec.hpp"

namespace simco::loadgen {
namespace {

constexpr TransactionId kSessionTid{0};
constexpr std::uint32_t kFirstTid = 1;
constexpr std::uint32_t kTidAt = 4;  // RFC 4540 section 4.1

std::vector<std::byte> encoded(TransactionId tid, const Body& body) {
  std::vector<std::byte> octets(encoded_size(body));
  ByteWriter out(octets);
  encode(tid, body, out);
  return octets;
}

/// Waits for that message. Throws std::runtime_error if another comes.
void expect(const net::BareSocket& connection, const std::vector<std::byte>& message) {
  if (connection.receive(message.size()) != message) {
    throw std::runtime_error("the other end is not simco-replay");
  }
}

std::vector<std::byte> session_request() { return encoded(kSessionTid, SeRequest{}); }

std::vector<std::byte> session_reply() {
  Capabilities abilities;
  abilities.packet_filter = abilities.disable_rules = true;
  abilities.internal_wildcards = abilities.external_wildcards = abilities.port_wildcards = true;
  abilities.internal_versions = abilities.external_versions = 3;
  abilities.lifetime_max_s = kReplayedLifetimeMaxS;
  return encoded(kSessionTid, SeReply{abilities});
}

}  // namespace

PerScript::PerScript(const Settings& settings) {
  nlohmann::ordered_json parameters;
  settings.workload().write_parameters(parameters, settings.generator.seed);
  if (settings.connections > 1) throw std::runtime_error("a replay of PER has one connection");
  if (settings.generator.count.value_or(0) + settings.generator.warmup > kReplayedRulesMax) {
    throw std::runtime_error("a replay of PER grants every rule, and these are too many");
  }
  if (parameters["rules"] != 0) throw std::runtime_error("a replay of PER keeps all rules");
}

void PerScript::open(const net::BareSocket& connection) const {
  connection.send(session_request(), kSimcoPayloadProtocol);
  expect(connection, session_reply());
}

replay::Exchange PerScript::exchange(std::uint64_t index, const replay::Place& place) const {
  const TransactionId tid{static_cast<std::uint32_t>(kFirstTid + index)};
  const auto rule = static_cast<std::uint32_t>(1 + index);
  const auto request = call_pinhole(index);
  AddressTuple outside = request.internal;
  AddressTuple inside = request.external;
  outside.location = Location::kOutside;
  inside.location = Location::kInside;
  const PerReply reply{.pid = {rule},
                       .group = {rule},
                       .lifetime = request.lifetime,
                       .outside = outside,
                       .inside = inside};
  // Each side has the TIDs of a stream in turn. The agent's first of stream 0 is that of its SE.
  const std::uint32_t before = tid.value % place.streams == 0 ? place.streams : 0;
  return {tid.value, encoded(tid, request), encoded(tid, reply),
          encoded({tid.value - before}, AreNotification{{rule}, {0}})};
}

void PerScript::complete(replay_plan& plan, const replay::Exchange&) const {
  plan.binary_keys = 1;
  plan.request_key = plan.response_key = kTidAt;
  plan.first_key = kFirstTid;
  plan.payload_protocol = kSimcoPayloadProtocol;
  plan.timer_b_ns = plan.timeout_ns;
  plan.later_ns =
      std::chrono::nanoseconds(std::chrono::seconds(call_pinhole(0).lifetime.seconds)).count();
  plan.tick_ns = std::chrono::nanoseconds(kReplayedExpiryTick).count();
}

void open_session(const net::BareSocket& connection) {
  expect(connection, session_request());
  connection.send(session_reply(), kSimcoPayloadProtocol);
}

std::expected<net::ListenOptions, cli::UsageExit> parse_box_settings(int argc,
                                                                     const char* const* argv) {
  net::ListenOptions settings;
  cli::TransportArguments transport;
  bool allows = false;
  std::string backend;
  cli::Options options("simco-middlebox", "A middlebox without a backend, in a replay", "");
  transport.declare_listener(options, settings);
  options.group("Policy");
  options.flag("--allow-anonymous", allows, "Accept agents without names");
  options.choice("--backend", backend, "What enforces rules", {"null"});
  if (const auto exit = cli::parse(options, argc, argv)) return std::unexpected(*exit);
  if (const auto fault = transport.fault()) return std::unexpected(cli::wrong(options, *fault));
  return settings;
}

}  // namespace simco::loadgen
