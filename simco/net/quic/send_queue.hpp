// What the streams of a connection send, and whose turn it is. No I/O and no clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "simco/net/quic/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::quic {

/// The output of a stream, from the user's call to the peer's acknowledgement: messages in the
/// order of the stream. They do not move in memory, because packets that are lost are made from
/// them again. Counts are octets since the stream began.
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

/// Number of a stream, from 0, of those that one end sends on.
using StreamNumber = std::uint32_t;

/// The streams that this end sends on, in turn. A message that has been sent in part goes first:
/// the peer gives room back for whole ones only, and parts of many would take all there is.
class SendQueue {
 public:
  /// What may be sent next.
  struct Piece {
    std::int64_t id = -1;  ///< of the stream; -1: nothing may
    std::span<const std::byte> octets;
    bool fin = false;   ///< nothing follows on the stream
    bool last = false;  ///< nothing else may be sent
  };

  /// Adds a stream, which the library calls `id`.
  void add(std::int64_t id);
  std::size_t streams() const { return outputs_.size(); }

  // --- For the user

  /// As Connection has them.
  std::span<std::byte> allocate(StreamNumber stream, std::size_t size);
  void commit();
  std::size_t queued() const {
    const auto in_packets = kept_ - queued_;
    return queued_ + in_packets - std::min(in_packets, kUnacknowledgedMax);
  }
  void finish();
  bool finished() const { return finishing_ && open_ == 0; }
  /// Octets of memory in use.
  std::size_t held() const;

  // --- For the packets

  bool ready() const { return !ready_.empty(); }
  Piece next() const;
  /// `count` octets of next() are in a packet, its end included if `fin`.
  void take(std::size_t count, bool fin);
  /// The stream of next() must wait for the peer's window, until unblock().
  void block();
  /// The stream of next() sends nothing more.
  void drop() { pop(); }
  void unblock();
  /// The peer has everything of a stream before `offset`.
  void acknowledged(std::int64_t id, std::uint64_t offset);
  /// The peer has everything of a stream, or wants nothing of it.
  void closed(std::int64_t id);

 private:
  struct Output {
    std::int64_t id = -1;
    StreamOutput octets;
    bool touched = false;  ///< allocated from since the last commit()
    bool ready = false;    ///< among ready_
    bool blocked = false;  ///< waits for the peer's window
    bool fin_due = false;
    bool closed = false;  ///< acknowledged to its end
  };

  /// Returns nullptr if this end does not send on that stream.
  Output* find(std::int64_t id);
  void make_ready(StreamNumber number);
  void pop();

  std::deque<Output> outputs_;
  std::vector<StreamNumber> ready_;    ///< streams with something to send, in turn
  std::vector<StreamNumber> touched_;  ///< since the last commit()
  std::size_t blocked_ = 0;            ///< streams that wait for the peer's window
  std::size_t queued_ = 0;             ///< octets that are in no packet yet
  /// Octets that the peer has not acknowledged: it may acknowledge all packets but those that begin
  /// a stream, and all that follows must be kept for it.
  std::size_t kept_ = 0;
  std::size_t open_ = 0;  ///< streams that are not closed
  bool finishing_ = false;
};

}  // namespace simco::net::quic
