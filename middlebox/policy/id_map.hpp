// Ids of rules and groups, which are mostly consecutive: a map from them, and their allocation.
//
// Sixteen neighbouring ids share a block, so that a new rule touches the cache line of the rule
// before it: adding the millionth costs as much as adding the thousandth. Blocks live in 256 small
// hash tables rather than in a large table, so that no single insertion pays for moving a million
// entries.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <unordered_set>
#include <utility>

#include "simco/wire/assert.hpp"

namespace simco::policy {

/// `Value`: small and trivially copyable. Pointers into the map are valid until the next insert().
template <class Value>
class IdMap {
 public:
  std::size_t size() const { return size_; }

  Value* find(std::uint32_t id) {
    Segment& segment = segment_of(id);
    const auto block = segment.find(id / kBlock);
    if (block == segment.end() || (block->second.used & bit(id)) == 0) return nullptr;
    return &block->second.values[id % kBlock];
  }
  const Value* find(std::uint32_t id) const { return const_cast<IdMap*>(this)->find(id); }

  /// Adds `id`, which must not be in the map.
  void insert(std::uint32_t id, Value value) {
    Block& block = segment_of(id)[id / kBlock];
    SIMCO_ASSERT((block.used & bit(id)) == 0);
    block.used = static_cast<std::uint16_t>(block.used | bit(id));
    block.values[id % kBlock] = value;
    ++size_;
  }

  /// Removes `id`, which must be in the map.
  void erase(std::uint32_t id) {
    Segment& segment = segment_of(id);
    const auto block = segment.find(id / kBlock);
    SIMCO_ASSERT(block != segment.end() && (block->second.used & bit(id)) != 0);
    block->second.used = static_cast<std::uint16_t>(block->second.used & ~bit(id));
    if (block->second.used == 0) segment.erase(block);
    --size_;
  }

 private:
  static constexpr std::uint32_t kBlock = 16;
  static constexpr std::uint32_t kSegments = 256;

  struct Block {
    std::array<Value, kBlock> values;
    std::uint16_t used = 0;  ///< bit per value
  };
  using Segment = boost::unordered_flat_map<std::uint32_t, Block>;

  static unsigned bit(std::uint32_t id) { return 1U << (id % kBlock); }
  Segment& segment_of(std::uint32_t id) { return segments_[(id / kBlock) % kSegments]; }

  std::array<Segment, kSegments> segments_;
  std::size_t size_ = 0;
};

/// Allocates PIDs and GIDs: never 0, never in use, and never seen by an open session with another
/// meaning (doc/rfc4540.md, reading 19; RFC 4540 section 8.1, "an unused policy rule identifier").
///
/// Ids count up and wrap around after 2^32. Two measures prevent an id from having two meanings for
/// a session: the caller must end sessions older than kSessionAgeMax ids (a session cannot issue
/// more than 2^32 requests anyway), and ids whose rule lived so long that it ended within that age
/// are held back for kHoldAge. For younger rules, the number of ids in between is sufficient.
///
/// `Int`: unsigned type of the id. Tests use a small number to make ids wrap around.
template <class Int = std::uint32_t>
class IdSequence {
 public:
  /// Position in the endless sequence of ids handed out; ids are its low bits.
  using Position = std::uint64_t;
  /// A quarter of the id space: how old, in ids, a session may get.
  static constexpr Position kSessionAgeMax = Position{std::numeric_limits<Int>::max()} / 4;
  /// Half of the id space: how long an id that is released late is held back. Twice the session
  /// age, so that the caller need not check its sessions at every id.
  static constexpr Position kHoldAge = Position{std::numeric_limits<Int>::max()} / 2;

  struct Allocation {
    Int id;
    Position position;
  };

  /// Returns the current position; the caller records it when a session opens.
  Position position() const { return next_; }
  /// Continues at the position before a restart. Must be called before the first take().
  void resume(Position next) { next_ = next; }
  /// Returns the position at which `id`, in use since before a restart, was taken: the last
  /// possible position.
  Position position_of(Int id) const {
    const Position back = static_cast<Int>(static_cast<Int>(next_) - id);
    const Position round = Position{std::numeric_limits<Int>::max()} + 1;
    const Position age = back == 0 ? round : back;
    return age < next_ ? next_ - age : Position{id};
  }
  /// True if a session that opened at `opened` may continue.
  bool young_enough(Position opened) const { return next_ - opened <= kSessionAgeMax; }

  /// Returns the next id for which `in_use(id)` is false. It must exist.
  template <class InUse>
  Allocation take(InUse&& in_use) {
    release_held();
    for (;;) {
      const Position position = next_++;
      const auto id = static_cast<Int>(position);
      if (id != 0 && !held_.contains(id) && !in_use(id)) return {id, position};
    }
  }

  /// Releases the id taken at `position`.
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
