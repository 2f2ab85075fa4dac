#include "agent/agent.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <unordered_map>

#include "agent/link.hpp"

namespace simco::agent {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

/// Transactions over a link. Lives on the agent's executor; kept alive by what it has under way.
class Agent::Impl final : public std::enable_shared_from_this<Impl>, private Link::Observer {
 public:
  Impl(boost::asio::any_io_executor executor, const Options& options)
      : executor_(std::move(executor)), options_(options), timer_(executor_) {}

  const boost::asio::any_io_executor& executor() const { return executor_; }

  void open(const net::HostPort& target, Completion done) {
    if (link_) return done(AgentError::kAlreadyOpen, {});
    opening_ = std::move(done);
    link_ = std::make_unique<Link>(
        executor_, read_buffer_, static_cast<Link::Observer&>(*this),
        AgentSession::Authentication{options_.credentials, options_.middlebox_secret},
        options_.transport);
    link_->open(target, options_.timeout);
    opening_deadline_ = Clock::now() + options_.timeout;
    arm_timer();
  }

  void close(Completion done) {
    if (!link_ || !link_->is_open()) return done(AgentError::kNotOpen, {});
    closing_ = std::move(done);
    closing_deadline_ = Clock::now() + options_.timeout;
    link_->close();
    arm_timer();
  }

  void transact(const Body& request, std::optional<PolicyRuleId> rule, Completion done) {
    if (!link_ || !link_->is_open()) return done(AgentError::kNotOpen, {});
    if (link_->full() || pending_.size() >= kPendingMax) return done(AgentError::kOverloaded, {});
    const auto tid = link_->request(request, stream_of(rule));
    if (!tid) return done(AgentError::kTidsExhausted, {});
    pending_.emplace(*tid, Pending{std::move(done), rule});
    deadlines_.emplace_back(Clock::now() + options_.timeout, *tid);
    arm_timer();
    flush_soon();
  }

  void next_event(Completion done) {
    if (waiting_for_event_) return done(AgentError::kOverloaded, {});
    if (events_.empty()) {
      if (!link_) return done(AgentError::kNotOpen, {});
      waiting_for_event_ = std::move(done);
      return;
    }
    const RuleEvent event = events_.front();
    events_.pop_front();
    done({}, Outcome{.event = &event});
  }

  void shut_down() { end(AgentError::kConnectionLost); }

 private:
  struct Pending {
    Completion done;
    std::optional<PolicyRuleId> rule;  ///< that the request is about
  };

  /// The TID whose stream messages about `rule` must take (all about one rule share a stream).
  std::optional<TransactionId> stream_of(std::optional<PolicyRuleId> rule) const {
    if (!rule) return std::nullopt;
    const auto creator = created_by_.find(*rule);
    return creator == created_by_.end() ? std::nullopt : std::optional(creator->second);
  }

  // Requests of one turn of the loop leave in one write.
  void flush_soon() {
    if (std::exchange(flush_posted_, true)) return;
    boost::asio::post(executor_, [self = shared_from_this()] {
      self->flush_posted_ = false;
      if (self->link_) self->link_->flush();
    });
  }

  void on_open(const Capabilities& capabilities) override {
    if (opening_) std::exchange(opening_, nullptr)({}, Outcome{.capabilities = &capabilities});
  }

  void on_reply(TransactionId tid, const Body& body) override {
    const auto found = pending_.find(tid);
    if (found == pending_.end()) return;  // timed out before
    auto [done, rule] = std::move(found->second);
    pending_.erase(found);
    if (rule && ends_rule(body)) created_by_.erase(*rule);
    if (const auto* refused = std::get_if<NegativeReply>(&body)) {
      return done(make_reply_error(refused->code), {});
    }
    if (const auto* prr = std::get_if<PrrReply>(&body)) remember_stream(prr->pid, tid);
    if (const auto* per = std::get_if<PerReply>(&body)) remember_stream(per->pid, tid);
    if (const auto* pdr = std::get_if<PdrReply>(&body)) remember_stream(pdr->pid, tid);
    done({}, Outcome{.body = &body});
  }

  /// A rule that we end ourselves ends without a notification to us.
  static bool ends_rule(const Body& body) {
    const auto* refused = std::get_if<NegativeReply>(&body);
    return std::holds_alternative<PrdReply>(body) ||
           (refused != nullptr && refused->code == NegativeReplyCode::kNoSuchRule);
  }

  void remember_stream(PolicyRuleId pid, TransactionId tid) {
    if (link_->channel()->outbound_streams() > 1) created_by_.insert_or_assign(pid, tid);
  }

  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override {
    if (lifetime == Lifetime{0}) created_by_.erase(pid);
    const RuleEvent event{pid, lifetime};
    if (waiting_for_event_) {
      return std::exchange(waiting_for_event_, nullptr)({}, Outcome{.event = &event});
    }
    events_.push_back(event);
    if (events_.size() <= kEventsMax) return;
    const std::uint64_t lost = events_.front().lost + 1;
    events_.pop_front();
    events_.front().lost = lost;
  }

  void on_turn() override {}

  void on_down(const error_code& reason) override { end(reason); }

  /// The session is over: everything that waits learns why.
  void end(const error_code& reason) {
    if (!link_) return;
    // Not from under its own feet: we may have been called by it.
    boost::asio::post(executor_, [self = shared_from_this(), old = std::move(link_)] {});
    timer_.cancel();
    deadlines_.clear();
    created_by_.clear();
    if (opening_) std::exchange(opening_, nullptr)(reason, {});
    for (auto& [tid, pending] : std::exchange(pending_, {})) pending.done(reason, {});
    if (waiting_for_event_) std::exchange(waiting_for_event_, nullptr)(reason, {});
    if (closing_) {
      const bool orderly = reason == AgentError::kTerminated;
      std::exchange(closing_, nullptr)(orderly ? error_code{} : reason, {});
    }
  }

  void arm_timer() {
    Clock::time_point due = Clock::time_point::max();
    if (opening_) due = std::min(due, opening_deadline_);
    if (closing_) due = std::min(due, closing_deadline_);
    if (!deadlines_.empty()) due = std::min(due, deadlines_.front().first);
    if (due == Clock::time_point::max() || (timer_armed_ && timer_.expiry() <= due)) return;
    timer_armed_ = true;
    timer_.expires_at(due);
    timer_.async_wait([weak = weak_from_this()](const error_code& error) {
      const auto self = weak.lock();
      if (!self || error) return;
      self->timer_armed_ = false;
      self->on_timer();
    });
  }

  void on_timer() {
    const auto now = Clock::now();
    if ((opening_ && opening_deadline_ <= now) || (closing_ && closing_deadline_ <= now)) {
      return end(AgentError::kTimeout);
    }
    while (!deadlines_.empty() &&
           (deadlines_.front().first <= now || !pending_.contains(deadlines_.front().second))) {
      const auto found = pending_.find(deadlines_.front().second);
      deadlines_.pop_front();
      if (found == pending_.end()) continue;
      auto done = std::move(found->second.done);
      pending_.erase(found);
      done(AgentError::kTimeout, {});
    }
    arm_timer();
  }

  boost::asio::any_io_executor executor_;
  Options options_;
  boost::asio::steady_timer timer_;
  net::ReadBuffer read_buffer_;
  std::unique_ptr<Link> link_;
  Completion opening_;
  Completion closing_;
  Completion waiting_for_event_;
  Clock::time_point opening_deadline_;
  Clock::time_point closing_deadline_;
  std::unordered_map<TransactionId, Pending> pending_;
  std::deque<std::pair<Clock::time_point, TransactionId>> deadlines_;
  std::unordered_map<PolicyRuleId, TransactionId> created_by_;  ///< only with several streams
  std::deque<RuleEvent> events_;
  bool timer_armed_ = false;
  bool flush_posted_ = false;
};

Agent::Agent(boost::asio::any_io_executor executor, const Options& options)
    : executor_(std::move(executor)), impl_(std::make_shared<Impl>(executor_, options)) {}

Agent::~Agent() {
  run(impl_, [](Impl* impl) { impl->shut_down(); });
}

void Agent::run(const std::shared_ptr<Impl>& impl, std::move_only_function<void(Impl*)> work) {
  boost::asio::dispatch(impl->executor(),
                        [impl, work = std::move(work)]() mutable { work(impl.get()); });
}

void Agent::start_open(Impl& impl, const net::HostPort& target, Completion done) {
  impl.open(target, std::move(done));
}
void Agent::start_close(Impl& impl, Completion done) { impl.close(std::move(done)); }
void Agent::start_transaction(Impl& impl, const Body& request, std::optional<PolicyRuleId> rule,
                              Completion done) {
  impl.transact(request, rule, std::move(done));
}
void Agent::start_next_event(Impl& impl, Completion done) { impl.next_event(std::move(done)); }

// --- From replies to results -------------------------------------------------------------------

bool Agent::convert_capabilities(const Outcome& outcome, Capabilities& result) {
  result = *outcome.capabilities;
  return true;
}

bool Agent::convert_nothing(const Outcome&) { return true; }

bool Agent::convert_reserved(const Outcome& outcome, ReservedRule& result) {
  const auto* prr = std::get_if<PrrReply>(outcome.body);
  if (prr == nullptr) return false;
  result = {prr->pid, prr->group, prr->lifetime, prr->outside, prr->inside};
  return true;
}

bool Agent::convert_disabled(const Outcome& outcome, DisableRule& result) {
  const auto* pdr = std::get_if<PdrReply>(outcome.body);
  if (pdr == nullptr) return false;
  result = {pdr->pid, pdr->lifetime};
  return true;
}

bool Agent::convert_enabled(const Outcome& outcome, EnabledRule& result) {
  const auto* per = std::get_if<PerReply>(outcome.body);
  if (per == nullptr) return false;
  result = {per->pid, per->group, per->lifetime, per->outside, per->inside};
  return true;
}

bool Agent::convert_lifetime(const Outcome& outcome, Lifetime& result) {
  if (std::holds_alternative<PrdReply>(*outcome.body)) {
    result = Lifetime{0};
    return true;
  }
  const auto* plc = std::get_if<PlcReply>(outcome.body);
  if (plc == nullptr) return false;
  result = plc->lifetime;
  return true;
}

bool Agent::convert_removed(const Outcome& outcome) {
  return std::holds_alternative<PrdReply>(*outcome.body);
}

bool Agent::convert_status(const Outcome& outcome, RuleStatus& result) {
  if (const auto* pes = std::get_if<PesReply>(outcome.body)) {
    result = {RuleStatus::Kind::kEnabled,
              pes->pid,
              pes->group,
              pes->parameters,
              pes->internal,
              pes->inside,
              pes->outside,
              pes->external,
              pes->lifetime,
              std::string(pes->owner.text())};
    return true;
  }
  if (const auto* prs = std::get_if<PrsReply>(outcome.body)) {
    result = {RuleStatus::Kind::kReserved,
              prs->pid,
              prs->group,
              std::nullopt,
              std::nullopt,
              prs->inside,
              prs->outside,
              std::nullopt,
              prs->lifetime,
              std::string(prs->owner.text())};
    return true;
  }
  const auto* pds = std::get_if<PdsReply>(outcome.body);
  if (pds == nullptr) return false;
  result = {RuleStatus::Kind::kDisabled,
            pds->pid,
            std::nullopt,
            std::nullopt,
            pds->internal,
            std::nullopt,
            std::nullopt,
            pds->external,
            pds->lifetime,
            std::string(pds->owner.text())};
  return true;
}

bool Agent::convert_list(const Outcome& outcome, std::vector<PolicyRuleId>& result) {
  const auto* prl = std::get_if<PrlReply>(outcome.body);
  if (prl == nullptr) return false;
  result = prl->pids;
  return true;
}

bool Agent::convert_event(const Outcome& outcome, RuleEvent& result) {
  result = *outcome.event;
  return true;
}

}  // namespace simco::agent
