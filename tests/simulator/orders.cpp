// Tries all orders of a few steps (small_world.hpp), breadth first: a state that has been seen
// before is not followed again.
//
//   test-orders DEPTH
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/simulator/fault.hpp"
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
        next.push_back(std::move(longer));
      } catch (const Fault& fault) {
        throw Fault(text(longer) + ": " + fault.what());
      }
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto depth = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (depth == 0) {
    std::fputs("usage: test-orders DEPTH\n", stderr);
    return 2;
  }
  Search search;
  search.next = {{}};
  try {
    for (std::size_t done = 0; done < depth && !search.next.empty(); ++done) {
      for (const auto& path : std::exchange(search.next, {})) search.follow(path);
      std::printf("%zu steps: %zu states, %llu transitions\n", done + 1, search.seen.size(),
                  static_cast<unsigned long long>(search.steps));
      std::fflush(stdout);
    }
  } catch (const Fault& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
  }
  return 0;
}
