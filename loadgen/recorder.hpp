// Records the outcome and the times of each measured transaction.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <vector>

#include "loadgen/client.hpp"
#include "loadgen/statistics.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::loadgen {

/// A transaction. Times are nanoseconds after the start of the schedule; negative: never.
struct Sample {
  std::uint64_t index = 0;
  TransactionKey key;
  std::int64_t scheduled_ns = -1;
  std::int64_t tried_ns = -1;     ///< the generator started to send it
  std::int64_t sent_ns = -1;      ///< the transport accepted its last octet
  std::int64_t received_ns = -1;  ///< its reply was decoded
  net::StreamId stream;
  Outcome outcome = Outcome::kUnanswered;
  std::int64_t again_ns = -1;  ///< it had to be sent again then, the last time
};

/// Counts of transactions. sent <= offered; completed + refused + timed_out <= sent.
struct Counts {
  std::uint64_t offered = 0;
  std::uint64_t sent = 0;
  std::uint64_t completed = 0;
  std::uint64_t refused = 0;
  std::uint64_t timed_out = 0;
};

/// Counts and distributions of all transactions.
class Recorder {
 public:
  /// With `keep_samples`, every sample is kept for write_samples(), 56 bytes each.
  explicit Recorder(bool keep_samples) : keep_samples_(keep_samples) {}

  void offered() { ++counts_.offered; }
  /// Records the end of a transaction. `code` is set with kRefused.
  void finished(const Sample& sample, std::optional<RefusalCode> code);

  const Counts& counts() const { return counts_; }
  /// From the scheduled time to the reply: the time a caller would have waited.
  const Distribution& response() const { return response_; }
  /// From the hand-over to the transport to the reply.
  const Distribution& service() const { return service_; }
  /// From the scheduled time to the start of sending: the lateness of the generator.
  const Distribution& lag() const { return lag_; }
  const std::map<RefusalCode, std::uint64_t>& refusals() const { return refusals_; }
  /// First scheduled time, and last reply or hand-over, nanoseconds.
  std::int64_t first_ns() const { return first_ns_; }
  std::int64_t last_ns() const { return last_ns_; }

  /// Writes the samples, sorted by index. Returns a sentence on failure.
  std::expected<void, std::string> write_samples(const std::string& path);

 private:
  Counts counts_;
  Distribution response_;
  Distribution service_;
  Distribution lag_;
  std::map<RefusalCode, std::uint64_t> refusals_;
  std::vector<Sample> samples_;
  std::int64_t first_ns_ = -1;
  std::int64_t last_ns_ = -1;
  bool keep_samples_;
};

}  // namespace simco::loadgen
