// Cuts a byte stream into SIMCO messages (RFC 4540 section 6 steps 1 and 2).
//
// The usual case, whole messages in one read, is cut in place without a copy; only the message that
// a read breaks off is kept. What is kept is bounded: by the longest message, or by `hold_limit`
// while a peer has not earned more (no session yet, so that nobody costs more than a session by
// promising a long message).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "simco/wire/codec.hpp"

namespace simco {

class FrameSplitter {
 public:
  /// Longest part of an unfinished message that is kept, octets, at least kHeaderSize. A longer one
  /// is handed on cut to this size: its header and payload sizes then disagree, which tells the
  /// taker.
  void set_hold_limit(std::size_t limit) { hold_limit_ = std::max(limit, kHeaderSize); }

  /// True between the first and the last octet of a message.
  bool mid_message() const { return received_ != 0; }
  /// Octets kept for an unfinished message.
  std::size_t held() const { return held_.size(); }

  /// Octets at the end of the last feed() that were not looked at, because `take` wanted no more.
  std::size_t unread() const { return unread_; }

  /// Calls `take(std::span<const std::byte> message)` for each message that `octets` completes,
  /// until it answers false; unread() then tells how much is left for another feed(). Answers
  /// kImpossibleLength at a header that fits no message: the stream is lost from there on. The span
  /// is valid during the call only.
  template <class Take>
  std::optional<DecodeError> feed(std::span<const std::byte> octets, Take&& take) {
    unread_ = 0;
    if (fault_) return fault_;
    while (!octets.empty()) {
      if (received_ != 0) {
        octets = octets.subspan(continue_message(octets));
        if (fault_) return fault_;
        if (total_ == 0 || received_ < total_) return std::nullopt;
        const bool go_on = take(std::span<const std::byte>(held_));
        forget();
        if (!go_on) return stop(octets.size());
        continue;
      }
      if (octets.size() < kHeaderSize) {
        hold(octets);
        return std::nullopt;
      }
      const Header header = read_header(octets.first<kHeaderSize>());
      if ((fault_ = check_header(header))) return fault_;
      const std::size_t total = kHeaderSize + header.length;
      if (octets.size() < total) {
        total_ = total;
        hold(octets);
        return std::nullopt;
      }
      const bool go_on = take(octets.first(total));
      octets = octets.subspan(total);
      if (!go_on) return stop(octets.size());
    }
    return std::nullopt;
  }

 private:
  void hold(std::span<const std::byte> octets) {
    received_ += octets.size();
    const std::size_t room = hold_limit_ - std::min(hold_limit_, held_.size());
    const auto kept = octets.first(std::min(room, octets.size()));
    held_.insert(held_.end(), kept.begin(), kept.end());
  }
  std::optional<DecodeError> stop(std::size_t unread) {
    unread_ = unread;
    return std::nullopt;
  }
  void forget();
  /// Takes from `octets` what the unfinished message still needs; returns how many.
  std::size_t continue_message(std::span<const std::byte> octets);

  std::size_t hold_limit_ = kMessageSizeMax;
  std::vector<std::byte> held_;
  std::size_t received_ = 0;  ///< octets of the unfinished message, held or not
  std::size_t total_ = 0;     ///< its size; 0 while the header is not complete
  std::size_t unread_ = 0;
  std::optional<DecodeError> fault_;
};

}  // namespace simco
