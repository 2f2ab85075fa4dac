// Whether a reply is the model's, at the moment of its arrival.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/simulator/facts.hpp"

namespace simco::simulator {

class ReplyJudge {
 public:
  explicit ReplyJudge(Facts& facts) : facts_(facts) {}

  /// A turn begins: the changes of the last turn have their replies.
  void begin_turn() { changes_.clear(); }
  /// A rule has changed, which a reply may go with.
  void changed(std::uint32_t pid, std::uint32_t lifetime) { changes_.push_back({pid, lifetime}); }
  /// `request` is no longer among those in flight.
  void judge(const Request& request, TransactionId tid, const Body& reply);

  std::uint64_t replies = 0;  ///< judged, and of these how many granted something
  std::uint64_t grants = 0;
  std::uint64_t overtaken = 0;  ///< refused for a disable rule that was asked for later

 private:
  struct Change {
    std::uint32_t pid;
    std::uint32_t lifetime;
  };

  void judge_refusal(const Request& request, TransactionId tid, const Body& reply);
  void judge_read(const Request& request, const Body& reply) const;
  void judge_grant(const Request& request, const Body& reply);
  bool may_be_refused_for_others(const Request& request, NegativeReplyCode code) const;
  /// A disable rule that was asked for later is in force already.
  bool was_overtaken(TransactionId tid) const;
  /// Claims a change that a reply about that rule must go with.
  Change claim(std::uint32_t pid, bool ends);

  Facts& facts_;
  std::vector<Change> changes_;  ///< in this turn, that no reply has claimed
};

}  // namespace simco::simulator
