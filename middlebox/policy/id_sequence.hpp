// Hands out PIDs and GIDs: never 0, never one that is in use, and none that an open session may
// have seen in its earlier life (doc/rfc4540.md, reading 19; RFC 4540 section 8.1, "an unused
// policy rule identifier").
//
// Ids count up and start over after 2^32. What keeps an id from meaning two things to one session:
// sessions older than kSessionAgeMax ids are to be ended by the caller (a session cannot issue more
// than 2^32 requests anyway), and ids whose rule lived so long that it ended within that age are
// held back for as long. For anything younger the ids in between are distance enough.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <unordered_set>
#include <utility>

namespace simco::policy {

/// `Int`: unsigned type of the id. Tests use a small one to see the numbers start over.
template <class Int = std::uint32_t>
class IdSequence {
 public:
  /// Position in the endless sequence of ids handed out; ids are its low bits.
  using Position = std::uint64_t;
  /// A quarter of the id space: how old, in ids, a session may get.
  static constexpr Position kSessionAgeMax = Position{std::numeric_limits<Int>::max()} / 4;
  /// Half of the id space: how long an id given back late is held. Twice the session age, so that
  /// the caller need not look at its sessions at every single id.
  static constexpr Position kHoldAge = Position{std::numeric_limits<Int>::max()} / 2;

  struct Allocation {
    Int id;
    Position position;
  };

  /// Where the sequence stands; taken down when a session opens.
  Position position() const { return next_; }
  /// Goes on where an earlier life of the sequence stood; nothing has been taken yet.
  void resume(Position next) { next_ = next; }
  /// Where an id that is in use since an earlier life was taken: the last place that it can be.
  Position position_of(Int id) const {
    const Position back = static_cast<Int>(static_cast<Int>(next_) - id);
    const Position round = Position{std::numeric_limits<Int>::max()} + 1;
    const Position age = back == 0 ? round : back;
    return age < next_ ? next_ - age : Position{id};
  }
  /// May a session that opened at `opened` go on?
  bool young_enough(Position opened) const { return next_ - opened <= kSessionAgeMax; }

  /// The next id that `in_use(id)` denies. There must be one.
  template <class InUse>
  Allocation take(InUse&& in_use) {
    release_held();
    for (;;) {
      const Position position = next_++;
      const auto id = static_cast<Int>(position);
      if (id != 0 && !held_.contains(id) && !in_use(id)) return {id, position};
    }
  }

  /// The id taken at `position` is no longer in use.
  void give_back(Position position) {
    if (next_ - position <= kHoldAge) return;
    const auto id = static_cast<Int>(position);
    held_.insert(id);
    release_order_.emplace_back(next_, id);
  }

 private:
  void release_held() {
    while (!release_order_.empty() && next_ - release_order_.front().first > kHoldAge) {
      held_.erase(release_order_.front().second);
      release_order_.pop_front();
    }
  }

  Position next_ = 1;
  std::unordered_set<Int> held_;
  std::deque<std::pair<Position, Int>> release_order_;  ///< when it was given back, which
};

}  // namespace simco::policy
