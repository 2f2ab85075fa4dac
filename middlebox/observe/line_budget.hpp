// Lines of the log that others can cause: so many in a second, the rest is counted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "simco/wire/instant.hpp"

namespace simco::middlebox {

class LineBudget {
 public:
  /// Up to `lines_per_second`, and as many at once.
  explicit LineBudget(std::uint32_t lines_per_second)
      : lines_per_second_(lines_per_second), allowance_(lines_per_second) {}

  /// May a line be written now? If not, it is counted as left out.
  bool take(Instant now) {
    const std::chrono::duration<double> passed = now - filled_at_;
    filled_at_ = now;
    allowance_ = std::min(allowance_ + std::max(passed.count(), 0.0) * lines_per_second_,
                          static_cast<double>(lines_per_second_));
    if (allowance_ < 1) {
      ++left_out_;
      return false;
    }
    allowance_ -= 1;
    return true;
  }
  /// Lines left out since the last call.
  std::uint64_t take_left_out() { return std::exchange(left_out_, 0); }
  std::uint32_t lines_per_second() const { return lines_per_second_; }

 private:
  std::uint32_t lines_per_second_;
  double allowance_;
  Instant filled_at_{};
  std::uint64_t left_out_ = 0;
};

/// Warnings about peers, at a limited rate so that strangers cannot fill the disk.
class PeerLog {
 public:
  using Sink = std::function<void(const std::string& line)>;

  PeerLog(std::uint32_t lines_per_second, Sink sink)
      : budget_(lines_per_second), sink_(std::move(sink)) {}

  void warn(std::string_view peer, std::string_view what, Instant now) {
    if (!budget_.take(now)) return;
    flush();
    sink_(std::string(peer) + ": " + std::string(what));
  }
  /// Says how many warnings were left out since the last line, if any.
  void flush() {
    const auto count = budget_.take_left_out();
    if (count == 0) return;
    sink_(std::to_string(count) + " further warnings about connections were left out (more than " +
          std::to_string(budget_.lines_per_second()) + " in a second)");
  }

 private:
  LineBudget budget_;
  Sink sink_;
};

}  // namespace simco::middlebox
