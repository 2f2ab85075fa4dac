// The planned changes that wait for the batch under way, and the choice of the next batch.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "middlebox/commit/requester.hpp"
#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/rule.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::middlebox {

/// The request of a change, and the requester that gets its outcome.
struct ChangeOrigin {
  Requester* requester =
      nullptr;  ///< nullptr: the lifetime expired, or a disable rule ends the rule
  TransactionId tid;
  policy::Transaction transaction{};  ///< of the request, if there is one
  policy::RuleSlot slot;
  std::uint32_t weight = 0;  ///< policy::Plan::weight, and the cost of notifying sessions
  rule::AgentId agent;       ///< agent whose share of a batch it takes
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

/// Changes in the order of planning.
class ChangeQueue {
 public:
  bool empty() const { return waiting_.changes.empty(); }
  std::size_t size() const { return waiting_.size(); }
  /// True if more is waiting than one batch can take without delaying other agents.
  bool heavy() const;
  /// Appends a change.
  void push(const rule::RuleChange& change, const ChangeOrigin& origin);
  /// Moves the next batch into `batch`: everything or, if the queue is heavy, the same share for
  /// each agent. The changes of one agent keep their order.
  void take(ChangeBatch& batch);

 private:
  /// The share of an agent in the batch that is being chosen.
  struct Share {
    std::uint64_t weight = 0;
    std::uint64_t count = 0;
  };
  void take_shares(ChangeBatch& batch);

  ChangeBatch waiting_;
  bool overtaken_ = false;    ///< by a disable rule, which may now block waiting changes
  std::uint64_t weight_ = 0;  ///< of the waiting changes
  std::unordered_map<rule::AgentId, Share> shares_;  ///< scratch
};

}  // namespace simco::middlebox
