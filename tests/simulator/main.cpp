// simulation: runs the middlebox in virtual time, from seeds.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "simco/cli/command_line.hpp"
#include "simco/cli/options.hpp"
#include "tests/simulator/simulation.hpp"

namespace {

using simco::simulator::Fault;
using simco::simulator::Simulation;
using simco::simulator::Tally;

void add(Tally& sum, const Tally& tally) {
  sum.requests += tally.requests;
  sum.replies += tally.replies;
  sum.grants += tally.grants;
  sum.events += tally.events;
  sum.connections += tally.connections;
  sum.cuts += tally.cuts;
  sum.crashes += tally.crashes;
  sum.takeovers += tally.takeovers;
  sum.promotions += tally.promotions;
  sum.reloads += tally.reloads;
  sum.clock_steps += tally.clock_steps;
  sum.overtaken += tally.overtaken;
}

/// Runs the seeds from `first` on; returns how many have found a fault.
unsigned run(std::uint32_t first, std::uint32_t count, bool trace) {
  std::atomic<std::uint32_t> next = 0;
  std::atomic<unsigned> faults = 0;
  std::mutex mutex;
  Tally sum;
  const auto work = [&] {
    for (std::uint32_t i = next++; i < count; i = next++) {
      std::function<void(const std::string&)> tell;
      if (trace) tell = [](const std::string& line) { std::puts(line.c_str()); };
      try {
        const Tally tally = Simulation(first + i, tell).run();
        const std::lock_guard lock(mutex);
        add(sum, tally);
      } catch (const std::exception& fault) {
        ++faults;
        const std::lock_guard lock(mutex);
        std::printf("seed %u: %s\n  to repeat it: tests/simulator/run --seed %u --trace\n",
                    first + i, fault.what(), first + i);
      }
    }
  };
  std::vector<std::jthread> threads;
  const auto workers = trace ? 1U : std::max(1U, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < workers; ++i) threads.emplace_back(work);
  threads.clear();
  std::printf(
      "simulation: %u seeds from %u: %llu requests, %llu granted, %llu events heard, "
      "%llu connections, %llu cut, %llu crashes, %llu takeovers, %llu promotions, %llu reloads, "
      "%llu steps of the "
      "clock, "
      "%llu rules overtaken; %u faults\n",
      count, first, static_cast<unsigned long long>(sum.requests),
      static_cast<unsigned long long>(sum.grants), static_cast<unsigned long long>(sum.events),
      static_cast<unsigned long long>(sum.connections), static_cast<unsigned long long>(sum.cuts),
      static_cast<unsigned long long>(sum.crashes), static_cast<unsigned long long>(sum.takeovers),
      static_cast<unsigned long long>(sum.promotions), static_cast<unsigned long long>(sum.reloads),
      static_cast<unsigned long long>(sum.clock_steps),
      static_cast<unsigned long long>(sum.overtaken), faults.load());
  return faults;
}

}  // namespace

int main(int argc, char** argv) {
  namespace cli = simco::cli;
  cli::Options options(
      "simulation",
      "Runs the middlebox with simulated agents, network, kernel, store and crashes.");
  std::optional<std::uint32_t> seed;
  std::uint32_t first = 1;
  std::uint32_t count = 1000;
  bool trace = false;
  options.whole("--seed", seed, "Run this seed and no other");
  options.whole("--from", first, "First seed").excludes = {"--seed"};
  options.whole("--seeds", count, "How many seeds to run").excludes = {"--seed"};
  options.flag("--trace", trace, "With --seed: say what happens, step by step");
  if (const auto exit = cli::parse(options, argc, argv)) return cli::leave(*exit);
  if (trace && !seed) return cli::leave(cli::wrong(options, "--trace requires --seed"));
  return run(seed.value_or(first), seed ? 1 : count, trace) == 0 ? 0 : 1;
}
