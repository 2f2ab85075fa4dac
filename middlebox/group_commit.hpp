// Brings requests through the engine and the backend: group commit without a timer.
//
// While a batch is with the backend, requests gather; when it comes back, they are the next batch.
// So one request at a time costs one trip, and under load many share one, at no added waiting.
//
// The requests of one session take effect in the order in which they came (doc/rfc4540.md, reading
// 26). One that cannot be decided before other changes are waits for these, and those that come
// after it on its session wait behind it. Changes are numbered as they are planned: a request waits
// for those before it and never for later ones, so that nobody's changes can hold it up for ever.
#pragma once

#include <deque>
#include <map>
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
    /// There is more to dispatch than others should wait for. Returns true if dispatch() will be
    /// called again, after what else is to be done.
    virtual bool dispatch_later() { return false; }

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
  bool idle() const { return !busy_ && gathered_.empty() && lines_.empty() && disabling_.empty(); }

 private:
  struct Entry {
    Requester* requester;  ///< nullptr: expiry
    TransactionId tid;
    policy::PlannedChange change;
    policy::Transaction transaction{};  ///< that asked for it; counts where somebody did
    Instant planned_at{};               ///< for the metrics
    std::uint64_t number = 0;           ///< of the change, in the order of planning
    std::uint32_t weight = 0;           ///< PolicyEngine::weight()
    policy::AgentId agent{};            ///< who asked for it, or whose rule ends
  };
  struct Waiting {
    TransactionId tid;
    Body request;
    std::uint64_t after;  ///< number of the last change that was planned when it came
  };
  /// What is undecided of one requester, in its order: the first waits, the others behind it.
  struct Line {
    std::deque<Waiting> requests;
    std::uint64_t after = 0;  ///< number of the last change that one of them has become
  };
  /// A PDR whose rule is in force, while the enable rules that it hits are being removed.
  struct Disabling {
    Requester* requester;
    TransactionId tid;
    Body reply;
    std::uint32_t left;
  };
  /// Those PDRs of one requester.
  struct Ending {
    std::uint32_t count = 0;
    bool awaited = false;  ///< by its line, until all of them are done
  };

  /// Answers the request, or gathers what is to change. False where it has to wait, now registered
  /// with what it waits for; the changes after number `after` do not count.
  bool decide(Requester& requester, TransactionId tid, const Body& request, std::uint64_t after);
  void gather(Entry entry);
  /// Number up to which all changes are decided, those under way before place `next` included.
  std::uint64_t settled_before(std::size_t next) const;
  void wait_for_changes(Requester& requester, std::uint64_t after);
  void done(const Disabling& disabling);
  /// Moves the next batch from what has gathered to what is under way: all, or from each agent the
  /// same share.
  void choose_batch();
  void choose_shares();
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
  /// The change of the rule in `slot` is decided: goes on with the lines that waited for that.
  void wake(policy::RuleSlot slot);
  /// Decides the requests in a line up to the next that has to wait.
  void resume(Requester& requester);

  policy::PolicyEngine& engine_;
  backend::Backend& backend_;
  Observer& observer_;
  Metrics* metrics_;
  Instant batch_began_{};  ///< for the metrics
  std::vector<Entry> gathered_;
  std::uint64_t gathered_weight_ = 0;
  /// What an agent has of the batch that is being chosen.
  struct Share {
    std::uint64_t weight = 0;
    std::uint64_t count = 0;
  };
  std::unordered_map<policy::AgentId, Share> shares_;  ///< scratch
  std::vector<Entry> under_way_;
  std::vector<backend::RuleChange> batch_;
  std::uint64_t planned_ = 0;  ///< changes so far
  std::uint64_t settled_ = 0;  ///< number up to which all of them are decided
  std::unordered_map<Requester*, Line> lines_;
  /// Whose line waits for the change of a rule, and for all changes up to a number.
  std::unordered_map<policy::RuleSlot, std::deque<Requester*>> after_rule_;
  std::multimap<std::uint64_t, Requester*> after_changes_;
  std::unordered_map<PolicyRuleId, Disabling> disabling_;
  std::unordered_map<Requester*, Ending> endings_;
  std::vector<policy::PlannedChange> expired_;
  bool busy_ = false;
  bool dispatching_ = false;
};

}  // namespace simco::middlebox
