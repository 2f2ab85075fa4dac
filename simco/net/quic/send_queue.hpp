// What the streams of a connection send, and whose turn it is. No I/O and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "simco/net/quic/stream_output.hpp"
#include "simco/net/quic/withheld_acks.hpp"

namespace simco::net::quic {

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
  std::size_t queued() const { return queued_ + kept_.excess(queued_); }
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
  WithheldAcks kept_;
  std::size_t open_ = 0;  ///< streams that are not closed
  bool finishing_ = false;
};

}  // namespace simco::net::quic
