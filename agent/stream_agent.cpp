// Joins an AgentSession, AgentTransactions and a FrameSplitter over octets that the caller
// transports.
#include "agent/stream_agent.hpp"

#include <algorithm>
#include <utility>

#include "simco/wire/codec.hpp"

namespace simco::agent {

using boost::system::error_code;

StreamAgent::StreamAgent(Observer& observer, const Options& options, Instant now)
    : observer_(observer),
      timeout_(options.timeout),
      session_(static_cast<AgentSession::Host&>(*this), 1, options.authentication),
      control_deadline_(now + options.timeout) {
  session_.establish();
}

// --- Requests ----------------------------------------------------------------------------------

error_code StreamAgent::request(const Body& body, std::optional<PolicyRuleId> rule, Instant now,
                                AgentTransactions::Completion done) {
  if (over_ || !is_open()) return AgentError::kNotOpen;
  if (transactions_.full() || output().size() >= kAgentOutputMax) return AgentError::kOverloaded;
  const auto tid = session_.request(body, transactions_.stream_of(rule));
  if (!tid) return AgentError::kTidsExhausted;
  transactions_.start(*tid, body, rule, now + timeout_, std::move(done));
  return {};
}

void StreamAgent::close(Instant now) {
  if (over_) return;
  if (!is_open()) return end(AgentError::kTerminated);
  control_deadline_ = now + timeout_;
  session_.terminate();
}

// --- Octets ------------------------------------------------------------------------------------

void StreamAgent::feed(std::span<const std::byte> octets) {
  if (over_) return;
  const auto fault = splitter_.feed(octets, [this](std::span<const std::byte> message) {
    session_.on_message(message);
    return !over_;
  });
  if (fault && !over_) end(AgentError::kProtocolError);
}

void StreamAgent::send(TransactionId tid, const Body& body) {
  const std::size_t size = encoded_size(body), begin = output_.size();
  output_.resize(begin + size);
  ByteWriter writer(std::span<std::byte>(output_).subspan(begin));
  const bool written = encode(tid, body, writer);
  SIMCO_ASSERT(written);
}

std::span<const std::byte> StreamAgent::output() const {
  return std::span(output_).subspan(consumed_);
}

void StreamAgent::consume(std::size_t count) {
  SIMCO_ASSERT(count <= output_.size() - consumed_);
  consumed_ += count;
  // Moving the rest pays once it is smaller than the part before it.
  if (consumed_ < output_.size() - consumed_) return;
  output_.erase(output_.begin(), output_.begin() + static_cast<std::ptrdiff_t>(consumed_));
  consumed_ = 0;
}

// --- Time --------------------------------------------------------------------------------------

std::optional<Instant> StreamAgent::next_deadline() const {
  if (over_) return std::nullopt;
  const auto next = transactions_.next_deadline();
  if (!control_deadline_) return next;
  return next ? std::min(*next, *control_deadline_) : *control_deadline_;
}

void StreamAgent::on_deadline(Instant now) {
  if (over_) return;
  if (control_deadline_ && *control_deadline_ <= now) return end(AgentError::kTimeout);
  transactions_.on_deadline(now);
}

// --- Outputs of the session --------------------------------------------------------------------

void StreamAgent::on_open(const Capabilities& capabilities) {
  control_deadline_.reset();
  observer_.on_open(capabilities);
}

void StreamAgent::on_reply(TransactionId tid, const Body& reply) {
  transactions_.on_reply(tid, reply);
}

void StreamAgent::on_rule_event(PolicyRuleId pid, Lifetime lifetime) {
  transactions_.on_rule_event(pid, lifetime);
  observer_.on_event();
}

void StreamAgent::on_end(SessionEnd how, std::optional<NegativeReplyCode> code) {
  end(agent::error_of(how, code));
}

void StreamAgent::end(const error_code& reason) {
  if (std::exchange(over_, true)) return;
  end_reason_ = reason;
  control_deadline_.reset();
  transactions_.end();
  observer_.on_end(reason);
}

}  // namespace simco::agent
