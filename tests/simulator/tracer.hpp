// Writes the steps of a small world as lines of words, which tests/simulator/spec compares with the
// specification: STEP SLOT AGENT WORD RULE. Rules have numbers in the order of their creation, and
// a request has the lowest slot that is free.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/simulator/small_world.hpp"

namespace simco::simulator {

/// A request of the small world, in the specification's words.
struct AskedWords {
  Step step;
  const char* agent;
  const char* request;
  std::uint32_t rule;  ///< 0: it makes one
};
/// Returns nullptr for steps that are no requests, and for PRL, which the specification lacks.
const AskedWords* words_of(Step step);
/// Returns kCount if no step is such a request.
Step step_of(const std::string& agent, const std::string& request, std::uint32_t rule);

class Tracer {
 public:
  Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  SmallWorld& world() { return world_; }
  /// Takes the step, and adds its lines.
  void take(Step step);
  void come_to_rest();
  /// The process dies. Must be the last call.
  void die();
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  struct Slot {
    std::uint32_t tid = 0;  ///< 0: free
    const AskedWords* asked = nullptr;
  };

  void say(const std::string& step, const std::string& words);
  void say_time();
  void say_rest();
  void on_asked(const AskedWords& asked);
  void on_reply(std::uint32_t tid, const Body& reply);
  void on_event(const policy::RuleEvent& event);

  SmallWorld world_;
  test::PipelineFixture& box_;
  std::vector<std::string> lines_;
  std::array<Slot, SmallWorld::kUnderWayMax> slots_;
  std::uint32_t tids_ = 0;
  std::map<std::uint32_t, std::uint32_t> numbers_;  ///< of rules, by PID
  std::map<std::uint32_t, std::uint32_t> made_;     ///< numbers of rules, by TID
  Instant said_;                                    ///< the time of the last line
};

}  // namespace simco::simulator
