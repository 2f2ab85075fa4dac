#include "tests/simulator/replay.hpp"

#include <algorithm>
#include <sstream>

#include "tests/simulator/fault.hpp"
#include "tests/simulator/random.hpp"
#include "tests/simulator/tracer.hpp"

namespace simco::simulator {
namespace {

using Lines = std::vector<std::string>;

std::string text(const Lines& lines) {
  std::string result;
  for (const auto& line : lines) result += "\n  " + line;
  return result;
}

Step step_in(const std::string& line) {
  std::istringstream stream(line);
  std::string kind;
  std::string slot;
  std::string agent;
  std::string request;
  std::uint32_t rule = 0;
  stream >> kind >> slot >> agent >> request >> rule;
  if (kind == "pass") return Step::kExpire;
  demand(kind == "ask", "a run that does not begin with a request: " + line);
  const auto step = step_of(agent, request, rule);
  demand(step != Step::kCount, "a request that the small world lacks: " + line);
  return step;
}

bool begins_a_turn(const std::string& line) {
  return line.starts_with("ask ") || line.starts_with("pass ");
}

/// The request or the time in the first line of `expected`, and all that the middlebox does then.
Lines turn(Tracer& tracer, const Lines& expected) {
  const auto before = tracer.lines().size();
  const auto step = step_in(expected.front());
  demand(tracer.world().is_possible(step), "a step that is not possible: " + expected.front());
  bool refuse = std::ranges::any_of(
      expected, [](const std::string& line) { return line.find(" failed ") != line.npos; });
  tracer.take(step);
  constexpr int kBatchesMax = 10;
  for (int i = 0; i < kBatchesMax; ++i) {
    if (tracer.world().is_possible(Step::kBegin)) tracer.take(Step::kBegin);
    if (!tracer.world().is_possible(Step::kAccept)) break;
    tracer.take(std::exchange(refuse, false) ? Step::kRefuse : Step::kAccept);
  }
  Lines done(tracer.lines().begin() + static_cast<std::ptrdiff_t>(before), tracer.lines().end());
  std::erase_if(done, [](const std::string& line) { return line.starts_with("rest "); });
  return done;
}

/// Rules that end at the same time end in any order.
Lines sorted(Lines lines) {
  const auto is_end = [](const std::string& line) { return line.starts_with("ended "); };
  for (auto first = std::ranges::find_if(lines, is_end); first != lines.end();) {
    const auto last = std::find_if_not(first, lines.end(), is_end);
    std::sort(first, last);
    first = std::find_if(last, lines.end(), is_end);
  }
  return lines;
}

}  // namespace

Lines random_trace(std::uint32_t seed, std::size_t steps) {
  Random random(seed);
  Tracer tracer;
  for (std::size_t i = 0; i < steps; ++i) {
    std::vector<Step> possible;
    for (std::uint8_t step = 0; step < static_cast<std::uint8_t>(Step::kCount); ++step) {
      const auto one = static_cast<Step>(step);
      if (one != Step::kList && tracer.world().is_possible(one)) possible.push_back(one);
    }
    if (possible.empty()) break;
    tracer.take(possible[random.below(static_cast<std::uint32_t>(possible.size()))]);
  }
  // Of two traces, one ends while something may be under way.
  if (seed % 2 == 0) {
    tracer.come_to_rest();
  } else {
    tracer.die();
  }
  return tracer.lines();
}

void replay(const Lines& run) {
  Tracer tracer;
  for (auto first = run.begin(); first != run.end();) {
    const auto last = std::find_if(first + 1, run.end(), begins_a_turn);
    const Lines expected(first, last);
    const auto done = turn(tracer, expected);
    if (sorted(done) != sorted(expected)) {
      throw Fault("step " + std::to_string(first - run.begin() + 1) +
                  ", the specification:" + text(expected) + "\nthe middlebox:" + text(done));
    }
    first = last;
  }
}

std::vector<Lines> read_runs(std::istream& from) {
  std::vector<Lines> result;
  for (std::string line; std::getline(from, line);) {
    if (line.starts_with("run")) {
      result.emplace_back();
    } else if (!result.empty() && !line.empty()) {
      result.back().push_back(line);
    }
  }
  return result;
}

}  // namespace simco::simulator
