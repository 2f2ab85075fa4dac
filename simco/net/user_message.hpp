// Joins the pieces of a transport with message boundaries, and has the framer check that each user
// message is exactly one message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "simco/net/framer.hpp"

namespace simco::net {

class UserMessageReader {
 public:
  explicit UserMessageReader(const Framer& framer)
      : framer_(&framer), hold_limit_(framer.size_max()) {}

  /// Longest part of a user message in pieces that is kept, octets, see FrameSplitter.
  void set_hold_limit(std::size_t limit) { hold_limit_ = limit; }
  /// True between the first and the last piece of a user message.
  bool mid_message() const { return received_ != 0; }

  /// Takes a piece of a user message, the last if it is `complete`; then calls
  /// `take(std::span<const std::byte> message)` with the message. A returned error means that it is
  /// none, or too long; there may be no further call.
  template <class Take>
  std::optional<FramingError> feed(std::span<const std::byte> piece, bool complete, Take&& take) {
    if (complete && received_ == 0) return check(piece, piece.size(), take);
    received_ += piece.size();
    const std::size_t room = hold_limit_ - std::min(hold_limit_, held_.size());
    const auto kept = piece.first(std::min(room, piece.size()));
    held_.insert(held_.end(), kept.begin(), kept.end());
    if (received_ > framer_->size_max()) {
      received_ = 0;
      held_ = {};
      return FramingError::kImpossibleLength;
    }
    if (!complete) return std::nullopt;
    const auto message = std::exchange(held_, {});
    return check(message, std::exchange(received_, 0), take);
  }

 private:
  template <class Take>
  std::optional<FramingError> check(std::span<const std::byte> held, std::size_t received,
                                    Take& take) {
    if (const auto fault = framer_->fault_in(held, received)) return fault;
    take(held);
    return std::nullopt;
  }

  const Framer* framer_;
  std::size_t hold_limit_;
  std::vector<std::byte> held_;  ///< of a user message in pieces
  std::size_t received_ = 0;     ///< its octets so far, held or not
};

}  // namespace simco::net
