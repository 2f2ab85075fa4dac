// Runs a session on an Asio executor: opens and closes the Link, sends requests on the stream of
// their rule, and completes transactions on replies, timeouts or the end of the session.
#include "agent/driver.hpp"

#include <boost/asio/post.hpp>
#include <utility>

namespace simco::agent {

using boost::system::error_code;
using Clock = std::chrono::steady_clock;

void Driver::open(const net::HostPort& target, Completion done) {
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

void Driver::close(Completion done) {
  if (opening_) {
    end(AgentError::kTerminated);
    return done({}, {});
  }
  if (!link_ || !link_->is_open()) return done(AgentError::kNotOpen, {});
  closing_ = std::move(done);
  closing_deadline_ = Clock::now() + options_.timeout;
  link_->close();
  arm_timer();
}

void Driver::transact(const Body& request, std::optional<PolicyRuleId> rule, Completion done) {
  if (!link_ || !link_->is_open()) return done(AgentError::kNotOpen, {});
  if (link_->full() || transactions_.full()) return done(AgentError::kOverloaded, {});
  const auto tid = link_->request(request, transactions_.stream_of(rule));
  if (!tid) return done(AgentError::kTidsExhausted, {});
  transactions_.start(
      *tid, request, rule, Clock::now() + options_.timeout,
      [this, done = std::move(done)](TransactionEnd how, const Body* reply) mutable {
        done(error_of(how, reply, end_reason_), Outcome{.body = reply});
      });
  arm_timer();
  flush_soon();
}

void Driver::next_event(Completion done) {
  if (waiting_for_event_) return done(AgentError::kOverloaded, {});
  const auto event = transactions_.take_event();
  if (event) return done({}, Outcome{.event = &*event});
  if (!link_) return done(AgentError::kNotOpen, {});
  waiting_for_event_ = std::move(done);
}

void Driver::flush_soon() {
  if (std::exchange(flush_posted_, true)) return;
  boost::asio::post(executor_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    if (self->link_) self->link_->flush();
  });
}

void Driver::on_open(const Capabilities& capabilities) {
  transactions_.set_streams(link_->channel()->outbound_streams());
  if (opening_) std::exchange(opening_, nullptr)({}, Outcome{.capabilities = &capabilities});
}

void Driver::on_rule_event(PolicyRuleId pid, Lifetime lifetime) {
  transactions_.on_rule_event(pid, lifetime);
  if (!waiting_for_event_) return;
  const auto event = transactions_.take_event();
  std::exchange(waiting_for_event_, nullptr)({}, Outcome{.event = &*event});
}

void Driver::end(const error_code& reason) {
  if (!link_) return;
  // Not from under its own feet: we may have been called by it.
  boost::asio::post(executor_, [self = shared_from_this(), old = std::move(link_)] {});
  timer_.cancel();
  timer_armed_ = false;  // the handler of a wait that was cancelled does not say so
  end_reason_ = reason;
  if (opening_) std::exchange(opening_, nullptr)(reason, {});
  transactions_.end();
  if (waiting_for_event_) std::exchange(waiting_for_event_, nullptr)(reason, {});
  if (closing_) {
    const bool orderly = reason == AgentError::kTerminated;
    std::exchange(closing_, nullptr)(orderly ? error_code{} : reason, {});
  }
}

void Driver::arm_timer() {
  Clock::time_point due = Clock::time_point::max();
  if (opening_) due = std::min(due, opening_deadline_);
  if (closing_) due = std::min(due, closing_deadline_);
  if (const auto next = transactions_.next_deadline()) due = std::min(due, *next);
  if (due == Clock::time_point::max() || (timer_armed_ && timer_.expiry() <= due)) return;
  timer_armed_ = true;
  timer_.expires_at(due);
  timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (!self || error) return;
    // This may be an earlier wait, which was over before it was cancelled: on_timer() goes by the
    // deadlines, and arms the timer again.
    self->timer_armed_ = false;
    self->on_timer();
  });
}

void Driver::on_timer() {
  const auto now = Clock::now();
  if ((opening_ && opening_deadline_ <= now) || (closing_ && closing_deadline_ <= now)) {
    return end(AgentError::kTimeout);
  }
  transactions_.on_deadline(now);
  arm_timer();
}

}  // namespace simco::agent
