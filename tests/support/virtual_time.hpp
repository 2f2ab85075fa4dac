// Time that passes only when a test says so, and its scheduled tasks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "simco/wire/instant.hpp"

namespace simco::test {

/// Runs tasks at their time. Tasks of one instant run in the order in which they were scheduled.
class Scheduler {
 public:
  using Task = std::move_only_function<void()>;

  virtual Instant now() const = 0;
  /// Runs `task` at `when`, or as soon as possible if that has passed; never from inside this call.
  virtual void at(Instant when, Task task) = 0;

 protected:
  ~Scheduler() = default;
};

/// A scheduler whose clock jumps from one task to the next. Depends on nothing but the schedule, so
/// the same tasks run in the same order every time.
class VirtualTime final : public Scheduler {
 public:
  explicit VirtualTime(Instant begin = Instant{std::chrono::hours(1)}) : now_(begin) {}

  Instant now() const override { return now_; }
  void at(Instant when, Task task) override {
    entries_.push_back({std::max(when, now_), ++scheduled_, std::move(task)});
    std::ranges::push_heap(entries_, later);
  }
  void after(Instant::duration delay, Task task) { at(now_ + delay, std::move(task)); }

  /// Runs the next task at its time. Returns false if there is none.
  bool step() {
    if (entries_.empty()) return false;
    std::ranges::pop_heap(entries_, later);
    Entry next = std::move(entries_.back());
    entries_.pop_back();
    now_ = next.when;
    next.task();
    return true;
  }
  /// Runs all tasks up to and including `end`, which it is then.
  void run_until(Instant end) {
    while (!entries_.empty() && entries_.front().when <= end) step();
    now_ = std::max(now_, end);
  }
  void run_for(Instant::duration time) { run_until(now_ + time); }
  /// Runs tasks until `done()`. Returns false if `limit` comes first, or no task is left.
  template <class Done>
    requires std::predicate<Done>
  bool run_until(Done done, Instant::duration limit = std::chrono::hours(1)) {
    const Instant end = now_ + limit;
    while (!done()) {
      if (entries_.empty() || entries_.front().when > end) return false;
      step();
    }
    return true;
  }

  /// Tasks that have not run yet.
  std::size_t pending() const { return entries_.size(); }

 private:
  struct Entry {
    Instant when;
    std::uint64_t number;
    Task task;
  };
  static bool later(const Entry& a, const Entry& b) {
    return std::pair(a.when, a.number) > std::pair(b.when, b.number);
  }

  Instant now_;
  std::uint64_t scheduled_ = 0;
  std::vector<Entry> entries_;  ///< a heap, the next one first
};

}  // namespace simco::test
