// Cuts a stream of octets into messages.
//
// The usual case, whole messages in one read, is cut in place without a copy; only a message that
// continues in the next read is kept. The bound of this buffer is the longest message, or
// `hold_limit` before a peer has a session, so that it cannot take memory by announcing a long
// message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "simco/net/framer.hpp"

namespace simco::net {

class FrameSplitter {
 public:
  explicit FrameSplitter(const Framer& framer) : framer_(&framer), hold_limit_(framer.size_max()) {}

  /// Longest part of an unfinished message that is kept, octets: enough for the framer to tell its
  /// size. A longer message is handed on cut to this size, below the framer's.
  void set_hold_limit(std::size_t limit) { hold_limit_ = limit; }

  /// True between the first and the last octet of a message.
  bool mid_message() const { return received_ != 0; }
  /// Octets kept for an unfinished message.
  std::size_t held() const { return held_.size(); }

  /// Octets at the end of the last feed() that were not looked at, because `take` wanted no more.
  std::size_t unread() const { return unread_; }

  /// Calls `take(std::span<const std::byte> message)` for each message that `octets` completes,
  /// until it returns false; unread() then tells how much is left for another feed(). Returns the
  /// framer's error at a beginning that fits no message: the stream is lost from there on. The span
  /// is valid during the call only.
  template <class Take>
  std::optional<FramingError> feed(std::span<const std::byte> octets, Take&& take) {
    unread_ = 0;
    while (!octets.empty() && !fault_) {
      if (received_ != 0) {
        octets = octets.subspan(continue_message(octets));
        if (!whole_) continue;
        const bool go_on = take(std::span<const std::byte>(held_));
        forget();
        if (!go_on) return stop(octets.size());
        continue;
      }
      const auto size = framer_->size_of(octets);
      if (!size) return fault_ = size.error();
      if (octets.size() < *size) {
        wanted_ = *size;
        hold(octets);
        return std::nullopt;
      }
      const bool go_on = take(octets.first(*size));
      octets = octets.subspan(*size);
      if (!go_on) return stop(octets.size());
    }
    return fault_;
  }

 private:
  void hold(std::span<const std::byte> octets) {
    received_ += octets.size();
    const std::size_t room = hold_limit_ - std::min(hold_limit_, held_.size());
    const auto kept = octets.first(std::min(room, octets.size()));
    held_.insert(held_.end(), kept.begin(), kept.end());
  }
  std::optional<FramingError> stop(std::size_t unread) {
    unread_ = unread;
    return std::nullopt;
  }
  void forget();
  /// Moves the missing octets of the unfinished message out of `octets`; returns how many.
  std::size_t continue_message(std::span<const std::byte> octets);

  const Framer* framer_;
  std::size_t hold_limit_;
  std::vector<std::byte> held_;
  std::size_t received_ = 0;  ///< octets of the unfinished message, held or not
  std::size_t wanted_ = 0;    ///< how many it needs, as far as the framer can tell
  bool whole_ = false;        ///< it is finished
  std::size_t unread_ = 0;
  std::optional<FramingError> fault_;
};

}  // namespace simco::net
