// Cost of one more rule when there are a thousand and when there are a million, and the memory of
// each.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <memory>

#include "loadgen/per/per_client.hpp"
#include "middlebox/policy/engine.hpp"

namespace {

using namespace simco;
using policy::PolicyEngine;

PolicyEngine::Options options() {
  PolicyEngine::Options result;
  result.backend.internal_versions = 3;
  result.backend.external_versions = 3;
  result.backend.lifetime_max_s = 3600;
  result.rules_max = 20'000'000;
  return result;
}

/// An engine, one agent, and a clock that moves on as at 100,000 requests a second.
struct Bench {
  Bench() { engine.apply(directory); }

  policy::AgentDirectory directory = policy::AgentDirectory::open_to_all();
  PolicyEngine engine{options()};
  policy::AgentId agent = engine.acquire("anonymous@192.0.2.1");
  std::uint64_t index = 0;
  Instant now{};

  PolicyRuleId add() {
    now += std::chrono::microseconds(10);
    const Body request = loadgen::call_pinhole(index++);
    auto plan = engine.plan({agent, {static_cast<std::uint32_t>(index)}}, request, now);
    settle(plan);
    return plan.change.after.pid;
  }
  void settle(policy::Plan plan) {
    benchmark::DoNotOptimize(plan);
    engine.settle(plan.slot, plan.change, rule::ChangeResult::kDone, now);
  }
  void remove(PolicyRuleId pid) { settle(engine.plan({agent, {0}}, PlcRequest{pid, {0}}, now)); }
};

/// Adds rules on top of state.range(0) live ones. The oldest go untimed, so that the number stays.
void BM_AddRule(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  const auto bench = std::make_unique<Bench>();
  const auto before = mallinfo2();
  std::uint32_t oldest = 0;
  for (std::uint32_t i = 0; i < live; ++i) {
    const auto pid = bench->add();
    if (i == 0) oldest = pid.value;
  }
  const auto after = mallinfo2();
  constexpr std::uint32_t kBatch = 256;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < kBatch; ++i) bench->add();
    state.PauseTiming();
    for (std::uint32_t i = 0; i < kBatch; ++i) bench->remove({oldest++});
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kBatch);
  const auto used = [](const struct mallinfo2& info) {
    return static_cast<double>(info.uordblks + info.hblkhd);
  };
  state.counters["octets/rule"] = (used(after) - used(before)) / live;
  state.counters["ns/rule"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBatch * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_AddRule)->Arg(1'000)->Arg(1'000'000);

/// Ends a rule and makes another: the steady state of `simco-loadgen --rules N`.
void BM_ReplaceOldestRule(benchmark::State& state) {
  const auto live = static_cast<std::uint32_t>(state.range(0));
  const auto bench = std::make_unique<Bench>();
  std::uint32_t oldest = 0;
  for (std::uint32_t i = 0; i < live; ++i) {
    const auto pid = bench->add();
    if (i == 0) oldest = pid.value;
  }
  for (auto _ : state) {
    bench->add();
    bench->remove({oldest++});
  }
}
BENCHMARK(BM_ReplaceOldestRule)->Arg(1'000)->Arg(1'000'000);

}  // namespace
