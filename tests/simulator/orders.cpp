// Tries all orders of a few steps (small_world.hpp), breadth first: a state that has been seen
// before is not followed again. In each state the process is killed as well.
//
//   test-orders DEPTH
//   test-orders --traces COUNT  prints that many random walks, for the specification to judge
//   test-orders --replay FILE   takes the runs of the specification in it, and compares
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/simulator/fault.hpp"
#include "tests/simulator/replay.hpp"
#include "tests/simulator/small_world.hpp"

namespace {

using namespace simco::simulator;
using Path = std::vector<Step>;

std::string text(const Path& path) {
  std::string result;
  for (const auto step : path) result += std::string(result.empty() ? "" : ", ") + name_of(step);
  return result;
}

/// Takes the steps of `path` from the beginning. The world is gone if one of them shows a fault.
std::unique_ptr<SmallWorld> walk(const Path& path) {
  auto world = std::make_unique<SmallWorld>();
  for (const auto step : path) world->take(step);
  return world;
}

struct Search {
  std::unordered_set<std::string> seen;
  std::vector<Path> next;
  std::uint64_t steps = 0;

  void follow(const Path& path) {
    const auto here = walk(path);
    for (std::uint8_t i = 0; i < static_cast<std::uint8_t>(Step::kCount); ++i) {
      const auto step = static_cast<Step>(i);
      if (!here->is_possible(step)) continue;
      Path longer = path;
      longer.push_back(step);
      ++steps;
      try {
        const auto there = walk(longer);
        if (!seen.insert(there->state()).second) continue;
        there->come_to_rest();
        walk(longer)->judge_death();
        next.push_back(std::move(longer));
      } catch (const Fault& fault) {
        throw Fault(text(longer) + ": " + fault.what());
      }
    }
  }
};

int search(std::size_t depth) {
  Search search;
  search.next = {{}};
  for (std::size_t done = 0; done < depth && !search.next.empty(); ++done) {
    for (const auto& path : std::exchange(search.next, {})) search.follow(path);
    std::printf("%zu steps: %zu states, %llu transitions\n", done + 1, search.seen.size(),
                static_cast<unsigned long long>(search.steps));
    std::fflush(stdout);
  }
  return 0;
}

int print_traces(std::uint32_t count) {
  constexpr std::size_t kSteps = 30;
  for (std::uint32_t seed = 1; seed <= count; ++seed) {
    std::printf("trace %u\n", seed);
    for (const auto& line : random_trace(seed, kSteps)) std::puts(line.c_str());
  }
  return 0;
}

int replay_all(const char* file) {
  std::ifstream stream(file);
  const auto runs = read_runs(stream);
  std::size_t number = 0;
  try {
    for (const auto& run : runs) {
      ++number;
      replay(run);
    }
  } catch (const Fault& fault) {
    throw Fault("run " + std::to_string(number) + ", " + fault.what());
  }
  std::printf("%zu runs\n", runs.size());
  return runs.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  const auto number = argc > 1 ? std::strtoul(argv[argc - 1], nullptr, 10) : 0;
  try {
    if (mode == "--replay") return replay_all(argv[2]);
    if (mode == "--traces" && number != 0) return print_traces(static_cast<std::uint32_t>(number));
    if (argc == 2 && number != 0) return search(number);
  } catch (const Fault& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
  }
  std::fputs("usage: test-orders DEPTH | --traces COUNT | --replay FILE\n", stderr);
  return 2;
}
