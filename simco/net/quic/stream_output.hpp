// The output of a stream, from the user's call to the peer's acknowledgement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "simco/net/quic/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::quic {

/// Messages in the order of the stream. They do not move in memory, because packets that are lost
/// are made from them again. Counts are octets since the stream began.
class StreamOutput {
 public:
  /// Returns room for a message at the end; it is sent after the next commit().
  std::span<std::byte> allocate(std::size_t size) {
    // Short messages share a run, so that few ends are kept.
    if (ends_.empty() || ends_.back() - last_run_ >= kPacketSize) {
      last_run_ = allocated_;
      ends_.push_back(allocated_);
    }
    ends_.back() += size;
    if (blocks_.empty() || blocks_.back().size - blocks_.back().used < size) add_block(size);
    auto& block = blocks_.back();
    const std::span room(block.octets.get() + block.used, size);
    block.used += size;
    allocated_ += size;
    return room;
  }
  /// Allocated output may be sent from now on.
  void commit() { committed_ = allocated_; }
  /// Octets that may be sent and have not been.
  std::size_t unsent() const { return static_cast<std::size_t>(committed_ - sent_); }

  /// The next of them, as many as lie together in memory and belong to a run.
  std::span<const std::byte> next() const {
    if (unsent() == 0) return {};
    const auto& block = blocks_[sending_];
    const auto in_block = static_cast<std::size_t>(sent_ - block.begin);
    const auto in_run = static_cast<std::size_t>(ends_.front() - sent_);
    return {block.octets.get() + in_block, std::min({block.used - in_block, unsent(), in_run})};
  }
  /// `count` of next() are in a packet.
  void sent(std::size_t count) {
    sent_ += count;
    while (!ends_.empty() && ends_.front() <= sent_) {
      whole_ = ends_.front();
      ends_.erase(ends_.begin());
    }
    while (sending_ + 1 < blocks_.size() && sent_ == blocks_[sending_].end()) ++sending_;
  }
  /// Perhaps part of a message has been sent and the rest has not.
  bool mid_message() const { return sent_ != whole_ && unsent() != 0; }
  /// The peer has everything before `offset`: that room is given back. Returns how many octets that
  /// is more than before.
  std::uint64_t acknowledged(std::uint64_t offset) {
    const auto more =
        offset - std::min(offset, std::exchange(acknowledged_, std::max(offset, acknowledged_)));
    while (!blocks_.empty() && blocks_.front().end() <= offset) {
      blocks_.erase(blocks_.begin());
      if (sending_ != 0) --sending_;
    }
    return more;
  }
  /// Octets of memory in use.
  std::size_t held() const {
    std::size_t result = 0;
    for (const auto& block : blocks_) result += block.size;
    return result;
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> octets;
    std::size_t size;
    std::uint64_t begin;  ///< of the stream
    std::size_t used = 0;
    std::uint64_t end() const { return begin + used; }
  };

  void add_block(std::size_t size) {
    const auto room = std::max(size, kOutputBlock);
    blocks_.push_back({std::make_unique_for_overwrite<std::byte[]>(room), room, allocated_});
    // Earlier octets have been sent: the next octet to send is here.
    if (sent_ == allocated_) sending_ = blocks_.size() - 1;
  }

  std::vector<Block> blocks_;        ///< few: an idle stream takes no memory
  std::size_t sending_ = 0;          ///< the block of the next octet to send
  std::vector<std::uint64_t> ends_;  ///< of runs of whole messages that are not sent whole
  std::uint64_t last_run_ = 0;       ///< where the last of them begins
  std::uint64_t whole_ = 0;          ///< up to here runs have been sent whole
  std::uint64_t allocated_ = 0;
  std::uint64_t committed_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace simco::net::quic
