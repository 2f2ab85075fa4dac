// What became of each transaction that is measured.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <vector>

#include "loadgen/statistics.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::loadgen {

enum class Outcome : std::uint8_t {
  kCompleted,   ///< positive reply
  kRefused,     ///< negative reply
  kTimedOut,    ///< no reply within --timeout
  kUnanswered,  ///< the run was aborted first
};

/// One transaction. Times are nanoseconds after the start of the schedule; negative: never.
struct Sample {
  std::uint64_t index = 0;
  TransactionId tid;
  net::StreamId stream;
  std::int64_t scheduled_ns = -1;
  std::int64_t tried_ns = -1;     ///< the generator turned to it
  std::int64_t sent_ns = -1;      ///< the transport had taken it
  std::int64_t received_ns = -1;  ///< its reply was there
  Outcome outcome = Outcome::kUnanswered;
};

/// Counts of transactions. sent <= offered; completed + refused + timed_out <= sent.
struct Counts {
  std::uint64_t offered = 0;
  std::uint64_t sent = 0;
  std::uint64_t completed = 0;
  std::uint64_t refused = 0;
  std::uint64_t timed_out = 0;
};

class Recorder {
 public:
  /// With `keep_samples` every sample is kept for write_samples(), 56 octets each.
  explicit Recorder(bool keep_samples) : keep_samples_(keep_samples) {}

  void offered() { ++counts_.offered; }
  /// The end of a transaction. `code` comes with kRefused.
  void finished(const Sample& sample, std::optional<NegativeReplyCode> code);

  const Counts& counts() const { return counts_; }
  /// From the scheduled time to the reply: what a caller would have waited.
  const Distribution& response() const { return response_; }
  /// From the hand-over to the transport to the reply.
  const Distribution& service() const { return service_; }
  /// From the scheduled time to the generator's turning to it: our own lateness.
  const Distribution& lag() const { return lag_; }
  const std::map<NegativeReplyCode, std::uint64_t>& refusals() const { return refusals_; }
  /// First scheduled time and last reply, nanoseconds.
  std::int64_t first_ns() const { return first_ns_; }
  std::int64_t last_ns() const { return last_ns_; }

  /// Writes the samples in the order of their indices. The error is a sentence.
  std::expected<void, std::string> write_samples(const std::string& path);

 private:
  Counts counts_;
  Distribution response_;
  Distribution service_;
  Distribution lag_;
  std::map<NegativeReplyCode, std::uint64_t> refusals_;
  std::vector<Sample> samples_;
  std::int64_t first_ns_ = -1;
  std::int64_t last_ns_ = -1;
  bool keep_samples_;
};

}  // namespace simco::loadgen
