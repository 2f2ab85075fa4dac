// Brings requests through the engine and the backend: group commit without a timer.
//
// While a batch is with the backend, requests gather; when it comes back, they are the next batch.
// So one request at a time costs one trip, and under load many share one, at no added waiting.
#pragma once

#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/policy/engine.hpp"
#include "simco/wire/messages.hpp"

namespace simco::middlebox {

class Metrics;

/// Whoever sends requests. Must live until each of them has been answered.
class Requester {
 public:
  virtual policy::AgentId agent() const = 0;
  /// Longest lifetime that its session was told of, seconds.
  virtual std::uint32_t lifetime_max_s() const = 0;
  virtual void reply(TransactionId tid, const Body& body) = 0;

 protected:
  ~Requester() = default;
};

/// A change of a rule and what became of it.
struct Decision {
  const backend::RuleChange& change;
  backend::ChangeResult result;
  policy::AgentId owner;
  GroupId group;
  const Requester* requester;  ///< nullptr: its lifetime was over, or a disable rule ended it
  PolicyRuleId ended_by;       ///< that disable rule; 0: none
};

class GroupCommit final : private backend::Backend::Client {
 public:
  /// Hears of every change of a rule.
  class Observer {
   public:
    /// The backend has spoken about a change, and the reply is not out yet. References are valid
    /// during the call.
    virtual void on_decided(const Decision&) {}
    /// `cause` asked for it; nullptr: nobody did.
    virtual void on_rule_event(const policy::RuleEvent& event, const Requester* cause) = 0;
    /// The backend could not remove a rule whose time is over; it is asked again later.
    virtual void on_expiry_failed(PolicyRuleId pid) = 0;
    /// Replies and events of a batch have been handed out.
    virtual void on_batch_done() = 0;
    /// The present.
    virtual Instant now() const = 0;

   protected:
    ~Observer() = default;
  };

  /// `metrics`, where there are any, must outlive this.
  GroupCommit(policy::PolicyEngine& engine, backend::Backend& backend, Observer& observer,
              Metrics* metrics = nullptr)
      : engine_(engine), backend_(backend), observer_(observer), metrics_(metrics) {}

  /// Decides a request. The reply comes at once, or after dispatch() and the backend.
  void submit(Requester& requester, TransactionId tid, const Body& request);
  /// Ends the rules whose lifetime is over.
  void expire();
  /// Gives what has gathered to the backend, unless it is busy. To be called when the requests of a
  /// turn of the loop are in.
  void dispatch();
  /// Nothing gathers and nothing is with the backend.
  bool idle() const {
    return !busy_ && gathered_.empty() && waiting_.empty() && disabling_.empty();
  }

 private:
  struct Entry {
    Requester* requester;  ///< nullptr: expiry
    TransactionId tid;
    policy::PlannedChange change;
    policy::Transaction transaction{};  ///< that asked for it; counts where somebody did
    Instant planned_at{};               ///< for the metrics
  };
  struct Waiting {
    Requester* requester;
    TransactionId tid;
    Body request;
  };
  /// A PDR whose rule is in force, while the enable rules that it hits are being removed.
  struct Disabling {
    Requester* requester;
    TransactionId tid;
    Body reply;
    std::uint32_t left;
  };

  /// One step of submit(): answers, or gathers, or tells that the rule in entry.change.slot is
  /// busy.
  policy::PolicyEngine::Verdict decide(Entry& entry, const Body& request);
  void on_applied(std::span<const backend::ChangeResult> results) override;
  void settle(const Entry& entry, const backend::RuleChange& change, backend::ChangeResult result);
  void answer(Requester& requester, TransactionId tid, policy::Transaction transaction,
              const Body& reply);
  /// Times of the batch that begins or has ended.
  void note_batch_begins();
  void note_batch_ended();
  void report(const Decision& decision);
  /// One rule less that the PDR behind `disable_rule`, if any, waits for.
  void count_down(PolicyRuleId disable_rule);
  /// Goes on with the requests that waited for the rule in `slot`, up to one that changes it again.
  void resubmit_waiting(policy::RuleSlot slot);

  policy::PolicyEngine& engine_;
  backend::Backend& backend_;
  Observer& observer_;
  Metrics* metrics_;
  Instant batch_began_{};  ///< for the metrics
  std::vector<Entry> gathered_;
  std::vector<Entry> under_way_;
  std::vector<backend::RuleChange> batch_;
  /// Requests for rules that have a change under way, per rule in their order.
  std::unordered_map<policy::RuleSlot, std::deque<Waiting>> waiting_;
  std::unordered_map<PolicyRuleId, Disabling> disabling_;
  std::vector<policy::PlannedChange> expired_;
  bool busy_ = false;
  bool dispatching_ = false;
};

}  // namespace simco::middlebox
