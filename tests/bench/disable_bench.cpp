// Disable rules among very many enable rules, and the other way round (RFC 4540 section 8.8), and
// the cost of finding ports on a NAT. Times of the engine alone, without sockets and backend.
#include <benchmark/benchmark.h>

#include <memory>

#include "middlebox/policy/engine.hpp"

namespace {

using namespace simco;
using policy::PolicyEngine;

AddressTuple tuple(Location location, std::uint32_t address, std::uint16_t port,
                   std::uint8_t prefix_length = 32, std::uint16_t ports = 1) {
  AddressTuple result;
  result.location = location;
  result.protocol = kProtocolUdp;
  result.prefix_length = prefix_length;
  result.port = port;
  result.port_range = ports;
  for (unsigned i = 0; i < 4; ++i) {
    result.address[i] = static_cast<std::byte>(address >> (24 - 8 * i));
  }
  return result;
}

AddressTuple any(Location location) {
  auto result = tuple(location, 0, 0, 0);
  result.form = AddressForm::kProtocolsOnly;
  return result;
}

constexpr std::uint32_t kInternal = 0x0A00'0000;  // 10.0.0.0/8
constexpr std::uint32_t kExternal = 0xC000'0000;  // 192.0.0.0/4
constexpr std::uint32_t kCallsPerHost = 10;

/// Ten calls of each of many internal hosts, each with ten external hosts in turn, so that any
/// external host, and any internal one, has ten rules.
PerRequest call(std::uint32_t index) {
  const std::uint32_t host = index / kCallsPerHost;
  // Scattered, so that neighbours inside are no neighbours outside.
  const std::uint32_t peer = static_cast<std::uint32_t>(std::uint64_t{host} * 7919 % 100'003);
  const auto port = static_cast<std::uint16_t>(16384 + 2 * (index % kCallsPerHost));
  return {{PortParity::kSame, Direction::kBidirectional},
          tuple(Location::kInternal, kInternal + host, port, 32, 2),
          tuple(Location::kExternal, kExternal + peer, port, 32, 2),
          {3600},
          {}};
}

struct Bench {
  Bench() { engine.apply(directory); }

  static PolicyEngine::Options options() {
    PolicyEngine::Options result;
    result.backend.internal_wildcards = result.backend.external_wildcards = true;
    result.backend.port_wildcards = true;
    result.backend.lifetime_max_s = 3600;
    result.rules_max = 20'000'000;
    return result;
  }
  PolicyRuleId add(const Body& request) {
    const auto plan = engine.plan({agent, {1}}, request, now);
    settle(plan);
    return plan.change.rule().pid;
  }
  void end_expired() {
    for (ends = 0; const auto plan = engine.plan_expiry(now); ++ends) settle(*plan);
  }
  void settle(const policy::Plan& plan) {
    const auto outcome = engine.settle(plan.slot, plan.change, rule::ChangeResult::kDone, now);
    if (!outcome.disabling) return;
    while (!engine.end_disabled(plan.change.after.pid, 1024, now).found_all) {
    }
  }
  void remove(PolicyRuleId pid) { add(PlcRequest{pid, {0}}); }

  policy::AgentDirectory directory = policy::AgentDirectory::open_to_all();
  PolicyEngine engine{options()};
  policy::AgentId agent = engine.acquire("anonymous@192.0.2.1");
  Instant now{std::chrono::hours(1)};
  std::uint32_t ends = 0;
};

enum Shape { kExternalHost, kExternalPrefix, kInternalHost, kInternalPort };

/// A disable rule of `shape` that hits ten rules.
PdrRequest block(Shape shape, std::uint32_t host) {
  const std::uint32_t peer = static_cast<std::uint32_t>(std::uint64_t{host} * 7919 % 100'003);
  switch (shape) {
    case kExternalHost:
      return {any(Location::kInternal), tuple(Location::kExternal, kExternal + peer, 0), {60}};
    case kExternalPrefix:  // and the internal host's network, which has many more
      return {tuple(Location::kInternal, (kInternal + host) & ~0xFFFFU, 0, 16),
              tuple(Location::kExternal, kExternal + peer, 0, 32),
              {60}};
    case kInternalHost:
      return {tuple(Location::kInternal, kInternal + host, 0), any(Location::kExternal), {60}};
    case kInternalPort: break;
  }
  // No address on either side: the ports of ten rules that have none in common with the others.
  return {tuple(Location::kInternal, 0, 5060, 0), any(Location::kExternal), {60}};
}

void BM_DisableTenOf(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  const auto shape = static_cast<Shape>(state.range(1));
  const auto bench = std::make_unique<Bench>();
  for (std::uint32_t i = 0; i < live; ++i) bench->add(call(i));
  const auto add_sip = [&](std::uint32_t i) {
    auto request = call(i * 100);
    request.internal.port = 5060;
    request.internal.port_range = request.external.port_range = 1;
    bench->add(request);
  };
  if (shape == kInternalPort) {
    for (std::uint32_t i = 0; i < 10; ++i) add_sip(i);
  }
  std::uint32_t host = 0;
  std::uint64_t ends = 0;
  for (auto _ : state) {
    host = (host + 7) % (live / kCallsPerHost);
    const auto request = block(shape, host);
    const auto pid = bench->add(request);
    bench->end_expired();
    ends += bench->ends;
    state.PauseTiming();
    bench->remove(pid);
    for (std::uint32_t i = 0; i < kCallsPerHost; ++i) {
      shape == kInternalPort ? add_sip(i) : void(bench->add(call(host * kCallsPerHost + i)));
    }
    state.ResumeTiming();
  }
  static constexpr const char* kNames[] = {"external host", "external host, internal /16",
                                           "internal host", "internal port"};
  state.SetLabel(kNames[shape]);
  state.counters["ended"] = static_cast<double>(ends) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_DisableTenOf)
    ->ArgNames({"rules", "shape"})
    ->ArgsProduct({{1'000, 10'000, 100'000, 1'000'000},
                   {kExternalHost, kExternalPrefix, kInternalHost, kInternalPort}})
    ->Iterations(200)
    ->Unit(benchmark::kMicrosecond);

/// All checks of a PER that is refused at the very end (its lifetime is 0), against so many disable
/// rules, none of which it meets.
void BM_CheckAgainstDisableRules(benchmark::State& state) {
  const auto rules = static_cast<std::uint32_t>(state.range(0));
  const bool wild = state.range(1) != 0;
  const auto bench = std::make_unique<Bench>();
  for (std::uint32_t i = 0; i < rules; ++i) {
    // Attackers' hosts and networks, and closed ports of internal hosts.
    if (i % 3 == 0) {
      bench->add(PdrRequest{any(Location::kInternal),
                            tuple(Location::kExternal, 0xD000'0000 + i * 16, 0, 32),
                            {3600}});
    } else if (i % 3 == 1) {
      bench->add(PdrRequest{any(Location::kInternal),
                            tuple(Location::kExternal, 0xE000'0000 + i * 256, 0, 24),
                            {3600}});
    } else {
      bench->add(PdrRequest{
          tuple(Location::kInternal, kInternal + i, 23), any(Location::kExternal), {3600}});
    }
  }
  Body reply;
  std::uint32_t index = 0;
  for (auto _ : state) {
    auto request = call(index++ % 1'000'000);
    request.lifetime = {0};
    if (wild) {
      request.parameters.direction = Direction::kInbound;
      request.external.prefix_length = 12;
      request.external.port = 0;
    }
    reply = bench->engine.plan({bench->agent, {1}}, request, bench->now).reply;
    benchmark::DoNotOptimize(reply);
  }
  const auto* refused = std::get_if<NegativeReply>(&reply);
  if (refused == nullptr || refused->code != NegativeReplyCode::kConfigurationFailed) {
    state.SkipWithError("was to be refused for its lifetime");
  }
}
BENCHMARK(BM_CheckAgainstDisableRules)
    ->ArgNames({"rules", "wildcards"})
    ->ArgsProduct({{0, 100, 1'000, 10'000}, {0, 1}});

/// Two ports, even first, taken and given back in a pool of 16 addresses that is so full.
void BM_TakePorts(benchmark::State& state) {
  const auto percent = static_cast<std::uint32_t>(state.range(0));
  policy::AddressPool pool({{{*parse_address("198.51.100.0"), 16}}, 1024, 65535, false});
  const policy::AddressPool::Request request{kProtocolUdp, 2, policy::Parity::kEven, {}};
  constexpr std::uint32_t kPairs = 16 * (65536 - 1024) / 2;
  std::vector<policy::Binding> held;
  for (std::uint32_t i = 0; i < std::uint64_t{kPairs} * percent / 100; ++i) {
    held.push_back(*pool.take(request));
  }
  // The free ports are scattered: a pair here and there.
  for (std::size_t i = 0; percent == 100 && i < 16; ++i) {
    pool.give_back(held[i * held.size() / 16], kProtocolUdp, {});
  }
  for (auto _ : state) {
    auto binding = pool.take(request);
    benchmark::DoNotOptimize(binding);
    pool.give_back(*binding, kProtocolUdp, {});
  }
}
BENCHMARK(BM_TakePorts)->ArgName("percent")->Arg(0)->Arg(50)->Arg(90)->Arg(99)->Arg(100);

/// The answer of a pool that has nothing left.
void BM_PoolIsFull(benchmark::State& state) {
  policy::AddressPool pool({{{*parse_address("198.51.100.0"), 16}}, 1024, 65535, false});
  const policy::AddressPool::Request request{kProtocolUdp, 2, policy::Parity::kEven, {}};
  while (pool.take(request)) {
  }
  for (auto _ : state) benchmark::DoNotOptimize(pool.take(request));
}
BENCHMARK(BM_PoolIsFull);

}  // namespace
