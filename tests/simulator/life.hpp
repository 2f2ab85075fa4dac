// One life of the middlebox, from a start to a crash or a stop.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "middlebox/core/core.hpp"
#include "tests/simulator/random.hpp"
#include "tests/simulator/sim_backend.hpp"
#include "tests/simulator/sim_store.hpp"
#include "tests/simulator/wall_clock.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::simulator {

class Life final : private middlebox::Core::Host, private middlebox::Journal::Monitor {
 public:
  /// `store` may be nullptr; it belongs to this life from now on, unless it stands by: then it
  /// follows the store until take_over(). All must outlive this.
  Life(const middlebox::CoreOptions& options, test::VirtualTime& time, const WallClock& wall,
       Random& random, SimBackend& backend, SimStore* store, bool stands_by = false);
  ~Life();

  /// Claims the store. Calls `taken` when all rules in it are enforced.
  void take_over(std::function<void()> taken);

  middlebox::Core& core() { return core_; }
  /// The last log lines of the middlebox, for the report of a fault.
  const std::string& last_line() const { return last_line_; }

 private:
  /// The middlebox's two clocks.
  class Clock final : public middlebox::Clock {
   public:
    Clock(const test::VirtualTime& time, const WallClock& wall) : time_(time), wall_(wall) {}
    Instant now() const override { return time_.now(); }
    std::int64_t wall_ms() const override { return wall_.now_ms(); }

   private:
    const test::VirtualTime& time_;
    const WallClock& wall_;
  };

  middlebox::Journal* make_journal(SimStore* store);
  /// Hears of the changes of the store a while later, or of all rules if it misses some.
  void follow();
  void deliver();
  /// It says that its backend enforces what it has heard.
  void judge_alike() const;

  // Core::Host
  void wake_at(Instant at) override;
  ChallengeOctets make_challenge() override;
  void log(middlebox::Core::LogLevel level, const std::string& line) override;
  void on_became_owner() override { time_.after({}, std::exchange(taken_, nullptr)); }

  // Journal::Monitor
  void on_store_failing(const std::string&) override {}
  void on_store_working() override {}
  void on_store_taken() override {}
  void on_store_lost() override {}

  test::VirtualTime& time_;
  Random& random_;
  Clock clock_;
  SimStore* const store_;
  const SimBackend& backend_;
  std::deque<store::Batch> unheard_;
  std::map<std::uint32_t, std::string> heard_;  ///< rules, as the store has them
  std::function<void()> taken_;
  std::optional<SimStore::Access> access_;
  std::optional<middlebox::Journal> journal_;
  middlebox::Core core_;
  std::string last_line_;
  std::uint64_t wishes_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace simco::simulator
