// A middlebox and everything around it, in one thread and in virtual time: agents, the network, the
// kernel, the store, crashes. One seed decides all of it, so a run that has found a fault can be
// repeated and looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulator/client.hpp"
#include "tests/simulator/judge.hpp"
#include "tests/simulator/life.hpp"
#include "tests/simulator/random.hpp"
#include "tests/simulator/sim_backend.hpp"
#include "tests/simulator/sim_store.hpp"
#include "tests/support/request_generator.hpp"

namespace simco::simulator {

/// What a run was made of, to see that it was one.
struct Tally {
  std::uint64_t requests = 0;
  std::uint64_t replies = 0;
  std::uint64_t grants = 0;
  std::uint64_t events = 0;
  std::uint64_t connections = 0;
  std::uint64_t cuts = 0;
  std::uint64_t crashes = 0;
};

class Simulation {
 public:
  /// `trace` is told of each step, if it is there.
  explicit Simulation(std::uint32_t seed, std::function<void(const std::string&)> trace = {});
  ~Simulation();

  /// Throws Fault if the middlebox does what it must not.
  Tally run();

 private:
  void trace(const std::string& what) const;
  /// Runs all that happens until then, and has it judged.
  void run_until(Instant end);
  void judge();

  void start();
  void crash();
  void schedule_crash();
  /// Waits until all is answered, and compares the tables.
  void settle();
  void stop();

  void connect(Client& client, const test::MemoryPath& path);
  test::MemoryPath random_path();
  void schedule(std::size_t client);
  void act(Client& client);
  void ask(Client& client);

  Random random_;
  std::function<void(const std::string&)> trace_;
  test::VirtualTime time_;
  const test::Mode mode_;
  test::Model model_;
  test::RequestGenerator generator_;
  std::vector<Sent> record_;  ///< what the middlebox has sent and nobody has judged
  SimBackend backend_;
  std::optional<SimStore> store_;
  Judge judge_;
  std::unique_ptr<Life> life_;  ///< nullptr between a crash and the next start
  std::unique_ptr<Client> auditor_;
  std::vector<std::unique_ptr<Client>> clients_;
  bool calm_ = false;  ///< agents ask for nothing, and nothing fails
  std::uint32_t sessions_ = 0;
  std::uint32_t tids_ = 0;
  Tally tally_;
};

}  // namespace simco::simulator
