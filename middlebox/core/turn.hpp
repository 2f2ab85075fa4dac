// One turn of the loop: what happens between two waits for input. Everything in it has the same
// time, and what it leads to (batches, output, the next deadline) goes out at its end.
#pragma once

#include <utility>

namespace simco::middlebox {

class Turns {
 public:
  virtual void begin_turn() = 0;
  virtual void end_turn() = 0;

 protected:
  ~Turns() = default;
};

/// Makes its scope a turn, or part of the one that is under way: turns nest, and the outermost
/// counts.
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
