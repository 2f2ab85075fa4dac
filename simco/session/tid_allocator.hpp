// Allocates transaction identifiers that are unique within a session, on a given stream.
//
// A message goes out on stream TID mod N, so TIDs of one residue class are one stream: 0x7 mod 4 =
// 3, 0xB mod 4 = 3, and so on. One counter per class gives TIDs that are never used twice (RFC 4540
// section 4.2.5) and lets the caller ask for the stream of an earlier TID (all messages about one
// policy rule share a stream).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "simco/wire/assert.hpp"
#include "simco/wire/ids.hpp"

namespace simco {

/// The TIDs of one side of a session.
class TidAllocator {
 public:
  /// `streams`: outbound streams of the association at this end, at least 1 (TCP: 1).
  explicit TidAllocator(std::uint16_t streams = 1) : streams_(streams) {
    SIMCO_ASSERT(streams > 0);
  }

  /// Returns a new TID on the next stream in turn, or nullopt if that stream has none left.
  std::optional<TransactionId> next() {
    const std::uint32_t residue = turn_;
    turn_ = (turn_ + 1) % streams_;
    return take(residue);
  }

  /// Returns a new TID on the stream of `other`, or nullopt if that stream has none left.
  std::optional<TransactionId> next_like(TransactionId other) {
    return take(other.value % streams_);
  }

 private:
  std::optional<TransactionId> take(std::uint32_t residue) {
    if (used_.empty()) used_.resize(streams_);
    constexpr std::uint64_t kTidMax = std::numeric_limits<std::uint32_t>::max();
    const std::uint64_t tid = std::uint64_t{used_[residue]} * streams_ + residue;
    if (tid > kTidMax || used_[residue] == kTidMax) return std::nullopt;
    ++used_[residue];
    return TransactionId{static_cast<std::uint32_t>(tid)};
  }

  std::uint32_t streams_;
  std::uint32_t turn_ = 0;
  std::vector<std::uint32_t>
      used_;  ///< number of TIDs used per residue class; allocated at first use
};

}  // namespace simco
