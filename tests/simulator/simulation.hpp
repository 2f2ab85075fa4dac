// A middlebox and everything around it, in one thread and in virtual time: agents, the network, the
// kernel, the store, crashes, reloads, and a second box that takes over. One seed decides all of
// it, so a run that has found a fault can be repeated and looked at.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/simulator/client.hpp"
#include "tests/simulator/judge.hpp"
#include "tests/simulator/life.hpp"
#include "tests/simulator/random.hpp"
#include "tests/simulator/request_generator.hpp"
#include "tests/simulator/sim_backend.hpp"
#include "tests/simulator/sim_store.hpp"

namespace simco::simulator {

/// Counts of a run, to see that it was a real run.
struct Tally {
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t grants = 0;
  std::uint64_t events = 0;
  std::uint64_t connections = 0;
  std::uint64_t cuts = 0;
  std::uint64_t crashes = 0;
  std::uint64_t takeovers = 0;
  std::uint64_t promotions = 0;  ///< of a box that has followed the store
  std::uint64_t reloads = 0;
  std::uint64_t clock_steps = 0;
  std::uint64_t overtaken = 0;  ///< enable rules, by a disable rule that was asked for later
};

class Simulation {
 public:
  /// `trace` is told of each step, if it is there.
  explicit Simulation(std::uint32_t seed, std::function<void(const std::string&)> trace = {});
  ~Simulation();

  /// Throws Fault if the middlebox violates a rule.
  Tally run();

 private:
  void trace(const std::string& what) const;
  /// Runs all that happens until then, and has it judged.
  void run_until(Instant end);
  void judge();

  middlebox::CoreOptions options() const;
  void start();
  /// `life` has the rules from now on.
  void begin(std::unique_ptr<Life> life, bool stood_by);
  /// The other box follows the store, if this run has such a box.
  void stand_by();
  /// It claims the store. Returns false if there is none.
  bool promote();
  void crash();
  /// Another box gets the store and the agents, while this one does not know it yet.
  void take_over();
  /// The box that has lost its rules notices at last.
  void end_predecessor();
  /// Some agents disappear from the configuration, others come back.
  void reload();
  void schedule_end();
  void schedule_reload();
  /// The wall clock steps, by up to an hour: lifetimes do not, and stored records stay right.
  void schedule_clock_step();
  /// Takes the messages of the box that has lost its rules: it may grant nothing more.
  void judge_predecessor();
  /// All is quiet: the box that stands by enforces the same rules.
  void judge_standby();
  /// Waits until all is answered, and compares the tables.
  void settle();
  void stop();

  void connect(Client& client, const test::MemoryPath& path, const Proof& proof);
  test::MemoryPath random_path();
  Proof random_proof();
  void schedule(std::size_t client);
  void act(Client& client);
  void ask(Client& client);
  void ask(Client& client, const Body& request);
  /// So many large rules at once that they do not fit into a batch, and a disable rule of another
  /// agent behind them.
  void flood(Client& client);

  Random random_;
  std::function<void(const std::string&)> trace_;
  test::VirtualTime time_;
  WallClock wall_{time_};
  const test::Mode mode_;
  const bool has_standby_;
  test::Model model_;
  test::RequestGenerator generator_;
  std::vector<Sent> record_;  ///< messages of the middlebox that are not judged yet
  /// Of the two boxes; `box_` is the one that has the rules.
  std::array<SimBackend, 2> backends_;
  std::size_t box_ = 0;
  std::optional<SimStore> store_;
  Judge judge_;
  std::set<std::string> unknown_;  ///< agents that the configuration does not have
  std::unique_ptr<Life> life_;     ///< nullptr between a crash and the next start
  std::unique_ptr<Life> standby_;  ///< the other box, while it follows the store
  // The other box, until it notices that its rules belong to this one
  std::unique_ptr<Life> predecessor_;
  std::uint32_t last_session_of_predecessor_ = 0;
  std::uint32_t last_tid_of_predecessor_ = 0;  ///< asked for when it still had the rules
  std::unique_ptr<Client> auditor_;
  std::vector<std::unique_ptr<Client>> clients_;
  bool calm_ = false;  ///< agents ask for nothing, and nothing fails
  std::uint32_t sessions_ = 0;
  std::uint32_t tids_ = 0;
  Tally tally_;
};

}  // namespace simco::simulator
