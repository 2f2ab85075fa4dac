// One turn of the loop: the handling of events between two waits for input. The time is the same
// for all of them, and the results (batches, output, the next deadline) go out at the end of the
// turn.
#pragma once

#include <utility>

namespace simco::middlebox {

/// Has turns; see Turn.
class Turns {
 public:
  virtual void begin_turn() = 0;
  virtual void end_turn() = 0;

 protected:
  ~Turns() = default;
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
