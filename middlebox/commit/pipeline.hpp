// The pipeline from a request to its reply: plan, journal, enforce, settle. Group commit without a
// timer.
//
//   plan     the engine decides, and describes the change as a value
//   journal  the store, if there is one, stores the batch (write-ahead logging)
//   enforce  the backend carries it out
//   settle   the engine completes or undoes each change; replies and events go out
//
// The order is store, kernel, reply. If the process is killed in between, the change was never
// acknowledged; the next start makes the kernel enforce exactly the stored rules. A change that
// the kernel refuses is removed from the store before the reply. If the store fails, nothing new is
// granted, but rules still end: a pinhole must not stay open because of a full disk.
//
// While a batch is under way, requests gather; when it comes back, they are the next batch. So a
// single request takes one round trip, and under load many requests share one, without added delay.
//
// The requests of one session take effect in the order in which they came (doc/rfc4540.md, reading
// 26). A request that cannot be decided before earlier changes of its session are settled waits for
// them, and later requests of its session queue behind it. It never waits for the changes of other
// sessions, except for a change of the rule that it is about.
#pragma once

#include <cstddef>
#include <optional>

#include "middlebox/backend/backend.hpp"
#include "middlebox/commit/change_queue.hpp"
#include "middlebox/commit/journal.hpp"
#include "middlebox/commit/request_lines.hpp"
#include "middlebox/commit/stage_times.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/policy/engine.hpp"

namespace simco::middlebox {

/// Belongs to one thread. The caller passes the time.
class CommitPipeline {
 public:
  /// A request that gets a negative reply. Valid during a call.
  struct Refusal {
    const Requester& requester;
    policy::Transaction transaction;
    NegativeReplyCode code;
    /// For PolicyEngine::reason(): the context and the request that was refused at once, or ...
    const policy::RequestContext* context = nullptr;
    const Body* request = nullptr;
    /// ... the change that was planned and not carried out.
    const rule::RuleChange* change = nullptr;
    rule::ChangeResult result = rule::ChangeResult::kDone;
    bool store_failed = false;  ///< that is why
  };

  /// Learns the outcome of changes.
  class Observer {
   public:
    /// A request is refused; its reply has not been sent yet.
    virtual void on_refused(const Refusal&) {}
    /// A change is decided; its reply has not been sent yet.
    virtual void on_decided(const rule::Decision&) {}
    /// `cause` requested the change and gets the reply instead of the event; nullptr if no session
    /// did.
    virtual void on_rule_event(const policy::RuleEvent& event, const Requester* cause) = 0;
    /// Returns how many sessions hear of a change of a rule of `owner`.
    virtual std::size_t audience(rule::AgentId owner) const = 0;
    /// The backend could not remove an expired rule; the removal is retried later.
    virtual void on_expiry_failed(PolicyRuleId pid) = 0;
    /// Backend or store have answered: call advance(). May be called from inside any call of the
    /// pipeline that reaches them.
    virtual void on_stage_done() = 0;

   protected:
    ~Observer() = default;
  };

  /// `journal` may be nullptr: then rules end with the process. All arguments must outlive this;
  /// `metrics` may be nullptr.
  CommitPipeline(policy::PolicyEngine& engine, Journal* journal, backend::Backend& backend,
                 Observer& observer, Metrics* metrics = nullptr);

  /// Decides a request. The reply is sent at once, or from advance().
  void submit(Requester& requester, TransactionId tid, const Body& request, Instant now);
  /// Plans the end of rules that have expired or that a disable rule hits, a bounded number of
  /// them, unless too many changes are waiting.
  void expire(Instant now);
  /// Returns when expire() is due next, if ever; nullopt while too many changes are waiting.
  std::optional<Instant> next_expiry() const;
  /// Carries out a change that another middlebox has made (PolicyEngine::follow()).
  void follow(const policy::Plan& plan) { queue(plan, {}); }
  /// From the next batch on, changes are kept in `journal`; nullptr: nowhere.
  void keep_in(Journal* journal) { run_.keep_in(journal); }
  /// Advances as far as possible: settles the batch that has come back and begins the next one.
  /// Must be called after the requests of a turn, and after on_stage_done(). Returns true if there
  /// is more to do than other events should wait for: then call it again soon.
  bool advance(Instant now);
  /// True if no change is waiting or under way.
  bool idle() const;

 private:
  // Plan
  /// While true, expired rules wait until the batch under way is done.
  bool backlog_full() const { return !run_.idle() && queue_.size() >= kBacklogMax; }
  /// Replies to the request, or queues its change. Returns false if it must wait.
  bool decide(Requester& requester, TransactionId tid, const Body& request, Instant now);
  void queue(const policy::Plan& plan, ChangeOrigin origin);
  /// The change of a rule is settled: resumes the lines that waited for it.
  void wake_rule(PolicyRuleId pid, Instant now);
  /// One of its changes is settled.
  void wake(Requester& requester, Instant now);
  /// Decides the requests in a line up to the next one that must wait.
  void resume(Requester& requester, Instant now);

  // Carry out
  /// Takes the next batch from the queue and begins it. Returns false if nothing of it is left.
  bool begin_batch(Instant now);
  /// Refuses the enable rules of the batch that a disable rule has overtaken and blocks.
  void refuse_overridden(Instant now);

  // Settle
  void settle_batch(Instant now);
  /// Completes or undoes a change, and continues the requests that waited for it.
  void settle(const rule::RuleChange& change, const ChangeOrigin& origin, rule::ChangeResult result,
              Instant now);
  /// Has the engine settle it; replies and events go out.
  void conclude(const rule::RuleChange& change, const ChangeOrigin& origin,
                rule::ChangeResult result, Instant now);
  void answer(Requester& requester, TransactionId tid, policy::Transaction transaction,
              const Body& reply);
  void complete_disable(PolicyRuleId pid, Instant now);

  policy::PolicyEngine& engine_;
  Observer& observer_;
  StageTimes times_;
  RequestLines lines_;
  WaitingPdrs pdrs_{engine_, lines_};
  ChangeQueue queue_;
  rule::IdPositions ids_;  ///< as of the last plan
  ChangeBatch batch_;      ///< under way
  BatchRun run_;
};

}  // namespace simco::middlebox
