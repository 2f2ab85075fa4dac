// Planned changes that wait for the batch before theirs, and which of them make up the next batch.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "middlebox/commit/requester.hpp"
#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/rule.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::middlebox {

/// Where a change comes from, and whom its outcome is for.
struct ChangeOrigin {
  Requester* requester = nullptr;  ///< nullptr: its lifetime was over, or a disable rule ends it
  TransactionId tid;
  policy::Transaction transaction{};  ///< that asked for it, if any did
  policy::RuleSlot slot;
  std::uint32_t weight = 0;  ///< policy::Plan::weight
  rule::AgentId agent;       ///< whose share of a batch it takes
  Instant planned_at{};      ///< for the metrics
};

/// Changes that are carried out together.
struct ChangeBatch {
  std::vector<rule::RuleChange> changes;
  std::vector<ChangeOrigin> origins;  ///< one for each change
  /// A disable rule was carried out before some of them although it was planned later.
  bool overtaken = false;

  std::size_t size() const { return changes.size(); }
  void clear() {
    changes.clear();
    origins.clear();
    overtaken = false;
  }
};

class ChangeQueue {
 public:
  bool empty() const { return waiting_.changes.empty(); }
  std::size_t size() const { return waiting_.size(); }
  /// More waits than one batch can take without keeping others waiting.
  bool heavy() const;
  void push(const rule::RuleChange& change, const ChangeOrigin& origin);
  /// Moves the next batch into `batch`: everything or, if the queue is heavy, the same share for
  /// each agent. The changes of one agent keep their order.
  void take(ChangeBatch& batch);

 private:
  /// What an agent has of the batch that is being chosen.
  struct Share {
    std::uint64_t weight = 0;
    std::uint64_t count = 0;
  };
  void take_shares(ChangeBatch& batch);

  ChangeBatch waiting_;
  bool overtaken_ = false;    ///< by a disable rule: what waits may be blocked by now
  std::uint64_t weight_ = 0;  ///< of what waits
  std::unordered_map<rule::AgentId, Share> shares_;  ///< scratch
};

}  // namespace simco::middlebox
