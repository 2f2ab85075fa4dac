// Runs a session on an Asio executor: opens and closes the Link, and opens it again if told to;
// sends requests on the stream of their rule as the middlebox takes them, and completes them on
// replies, timeouts or the end of the session.
#include "agent/driver.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace simco::agent {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

Driver::Driver(boost::asio::any_io_executor executor, const AgentOptions& options)
    : executor_(std::move(executor)),
      timeout_(options.timeout),
      timer_(executor_, Clock::time_point::max()),
      link_(executor_, options, *this),
      reconnection_(executor_),
      keeper_(*this) {
  reconnection_.set(options.reconnect);
}

// --- Sessions ----------------------------------------------------------------------------------

void Driver::open(const net::HostPort& target, Completion done) {
  if (link_ || reconnection_.under_way()) return done(AgentError::kAlreadyOpen, {});
  opening_ = std::move(done);
  link_.set_target(target);
  connect();
}

void Driver::keep_open(const net::HostPort& target) {
  reconnection_.start();
  link_.set_target(target);
  connect();
}

void Driver::connect() {
  link_.connect();
  link_.await_open(Clock::now());
  arm_timer();
}

void Driver::close(Completion done) {
  const bool ends = link_ && !link_.is_open() && !closing_;
  if (opening_ || reconnection_.under_way() || ends) {
    stop(AgentError::kTerminated);
    return done({}, {});
  }
  if (!is_open() || closing_) return done(AgentError::kNotOpen, {});
  closing_ = std::move(done);
  closing_deadline_ = Clock::now() + timeout_;
  if (waiting_.empty()) link_->close();  // otherwise when the last of them was sent
  arm_timer();
}

void Driver::shut_down() {
  reconnection_.set(std::nullopt);
  stop(AgentError::kConnectionLost);
  keeper_.shut_down();
}

void Driver::stop(const error_code& reason) {
  reconnection_.stop();
  if (link_) {
    end(reason, false);
  } else {
    give_up(reason);
  }
}

void Driver::on_open(const Capabilities& capabilities) {
  link_.on_open();
  capabilities_ = capabilities;
  transactions_.set_streams(link_->channel()->outbound_streams());
  if (opening_) std::exchange(opening_, nullptr)({}, Outcome{.capabilities = &capabilities});
  reconnection_.succeed();
  keeper_.on_session_open();
  send_waiting();
}

void Driver::end(const error_code& reason, bool may_reopen) {
  if (!link_) return;
  const bool reopens = may_reopen && !closing_ && reconnection_.enabled() && will_reopen();
  // The link may have called us: it lives until the next turn.
  boost::asio::post(executor_, [self = shared_from_this(), old = link_.take()] {});
  disarm_timer();
  end_reason_ = reason;
  if (opening_) std::exchange(opening_, nullptr)(reason, {});
  if (reopens) reconnection_.start();
  keeper_.on_session_end();
  transactions_.end();
  // A completion may have called close() or shut_down().
  if (reopens && reconnection_.under_way()) {
    reconnection_.retry(reason, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->reconnection_.under_way() && !self->link_) self->connect();
    });
    arm_timer();
  } else {
    give_up(reason);
  }
  if (closing_) {
    const bool orderly = reason == AgentError::kTerminated;
    std::exchange(closing_, nullptr)(orderly ? error_code{} : reason, {});
  }
}

void Driver::give_up(const error_code& reason) {
  reconnection_.stop();
  disarm_timer();
  for (auto& request : std::exchange(waiting_, {})) request.done(reason, {});
  if (waiting_for_event_) std::exchange(waiting_for_event_, nullptr)(reason, {});
}

// --- Requests ----------------------------------------------------------------------------------

void Driver::transact(const Body& request, std::optional<PolicyRuleId> rule, Completion done) {
  if (closing_ || (!is_open() && !will_reopen())) return done(AgentError::kNotOpen, {});
  if (transactions_.pending() + waiting_.size() >= kAgentPendingMax) {
    return done(AgentError::kOverloaded, {});
  }
  Waiting next{request, rule, Clock::now() + timeout_, std::move(done)};
  if (is_open() && waiting_.empty() && !link_->full()) return send(std::move(next));
  waiting_.push_back(std::move(next));
  arm_timer();
}

void Driver::send(Waiting next) {
  const auto tid = link_->request(next.request, transactions_.stream_of(next.rule));
  if (!tid) return next.done(AgentError::kTidsExhausted, {});
  transactions_.start(
      *tid, next.request, next.rule, next.deadline,
      [this, done = std::move(next.done)](TransactionEnd how, const Body* reply) mutable {
        done(error_of(how, reply, end_reason_), Outcome{.body = reply});
      });
  arm_timer();
  flush_soon();
}

void Driver::send_waiting() {
  if (waiting_.empty()) return;
  while (!waiting_.empty() && is_open() && !link_->full()) {
    auto next = std::move(waiting_.front());
    waiting_.pop_front();
    send(std::move(next));
  }
  if (closing_ && waiting_.empty() && is_open()) link_->close();
}

void Driver::flush_soon() {
  if (std::exchange(flush_posted_, true)) return;
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    if (self->link_) self->link_->flush();
    self->send_waiting();
  });
}

void Driver::enable_and_hold(const Body& request, Completion done) {
  const auto kept = [](const auto& wanted) {
    const KeptRule::Terms terms{wanted.internal, wanted.external, wanted.parameters.direction};
    return KeptRule{{}, terms, {}, wanted.lifetime};
  };
  const auto* pea = std::get_if<PeaRequest>(&request);
  const auto reservation = pea == nullptr ? std::nullopt : std::optional(pea->pid);
  transact(request, reservation,
           [this, rule = pea == nullptr ? kept(std::get<PerRequest>(request)) : kept(*pea),
            done = std::move(done)](const error_code& error, const Outcome& outcome) mutable {
             const auto* reply = error ? nullptr : std::get_if<PerReply>(outcome.body);
             if (reply == nullptr) return done(error, outcome);
             rule.pid = reply->pid;
             rule.outside = reply->outside;
             done({}, Outcome{.body = outcome.body, .held = keeper_.hold(rule, reply->lifetime)});
           });
}

void Driver::end_rule(HeldRule held, Completion done) {
  const auto pid = keeper_.let_go(held);
  if (!pid) return done({}, {});
  transact(PlcRequest{*pid, Lifetime{0}}, *pid,
           [done = std::move(done)](const error_code& error, const Outcome& outcome) mutable {
             const bool gone = error == make_reply_error(NegativeReplyCode::kNoSuchRule);
             done(gone ? error_code{} : error, outcome);
           });
}

void Driver::next_event(Completion done) {
  if (waiting_for_event_) return done(AgentError::kOverloaded, {});
  const auto event = transactions_.take_event();
  if (event) return done({}, Outcome{.event = &*event});
  // A caller between two events has not heard of the end of the session.
  if (!link_ && !reconnection_.under_way()) {
    return done(end_reason_ ? end_reason_ : make_error_code(AgentError::kNotOpen), {});
  }
  waiting_for_event_ = std::move(done);
}

void Driver::on_rule_event(PolicyRuleId pid, Lifetime lifetime) {
  keeper_.on_rule_event(pid, lifetime);
  transactions_.on_rule_event(pid, lifetime);
  if (!waiting_for_event_) return;
  const auto event = transactions_.take_event();
  std::exchange(waiting_for_event_, nullptr)({}, Outcome{.event = &*event});
}

// --- Time --------------------------------------------------------------------------------------

void Driver::arm_timer() {
  Clock::time_point due = link_.deadline().value_or(Clock::time_point::max());
  if (closing_) due = std::min(due, closing_deadline_);
  if (!waiting_.empty()) due = std::min(due, waiting_.front().deadline);
  if (const auto next = transactions_.next_deadline()) due = std::min(due, *next);
  if (due >= timer_.expiry()) return;
  timer_.expires_at(due);
  timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!self || error) return;
    // This may be an earlier wait, which was over before it was cancelled: on_timer() goes by the
    // deadlines, and arms the timer again.
    self->disarm_timer();
    self->on_timer();
  });
}

void Driver::disarm_timer() { timer_.expires_at(Clock::time_point::max()); }

void Driver::on_timer() {
  const auto now = Clock::now();
  const bool never_opened = link_.deadline().value_or(Instant::max()) <= now;
  if (never_opened || (closing_ && closing_deadline_ <= now)) return end(AgentError::kTimeout);
  transactions_.on_deadline(now);
  while (!waiting_.empty() && waiting_.front().deadline <= now) {
    auto late = std::move(waiting_.front());
    waiting_.pop_front();
    late.done(is_open() ? AgentError::kOverloaded : AgentError::kNotOpen, {});
  }
  arm_timer();
}

}  // namespace simco::agent
