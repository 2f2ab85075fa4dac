// A map from ids, which are mostly consecutive, to values.
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

}  // namespace simco::policy
