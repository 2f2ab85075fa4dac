// One turn of the loop: the handling of events between two waits for input. The time is the same
// for all of them, and the results (batches, output, the next deadline) go out at the end of the
// turn.
#pragma once

#include <utility>

#include "middlebox/clock.hpp"
#include "middlebox/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::middlebox {

/// Has turns; see Turn.
class Turns {
 public:
  virtual void begin_turn() = 0;
  virtual void end_turn() = 0;

 protected:
  ~Turns() = default;
};

/// The turn in progress and its time.
class TurnClock {
 public:
  explicit TurnClock(const Clock& clock) : clock_(clock) {}

  void begin() {
    if (depth_++ == 0) now_ = clock_.now();
  }
  void end() {
    SIMCO_ASSERT(depth_ > 0);
    --depth_;
  }
  bool in_progress() const { return depth_ > 0; }
  /// True if the turn in progress is not within another.
  bool outermost() const { return depth_ == 1; }
  Instant now() const {
    SIMCO_ASSERT(in_progress());
    return now_;
  }
  /// True if the turn has lasted for kTurnMax.
  bool used_up() const { return clock_.now() - now() > kTurnMax; }

 private:
  const Clock& clock_;
  int depth_ = 0;
  Instant now_;
};

/// Makes its scope a turn, or a part of the turn in progress: turns nest, and the outermost counts.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(&turns) { turns.begin_turn(); }
  Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (turns_ != nullptr) turns_->end_turn();
  }

 private:
  Turns* turns_;
};

}  // namespace simco::middlebox
