// Joins a channel and an AgentSession: connects, passes messages between them, and reports the end
// of either once, from the loop.
#include "agent/link.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "agent/error.hpp"
#include "simco/binding/framer.hpp"
#include "simco/binding/send.hpp"
#include "simco/net/connector.hpp"
#include "simco/net/limits.hpp"

namespace simco::agent {

using boost::system::error_code;

Link::Link(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
           Observer& observer, AgentSession::Authentication authentication,
           net::TransportOptions transport)
    : executor_(executor),
      read_buffer_(read_buffer),
      observer_(observer),
      authentication_(std::move(authentication)),
      transport_(std::move(transport)),
      end_timer_(executor),
      alive_(std::make_shared<Link*>(this)) {}

Link::~Link() {
  *alive_ = nullptr;
  if (channel_) channel_->detach();
}

void Link::open(const net::HostPort& target, std::chrono::milliseconds timeout) {
  net::connect(executor_, transport_, target, timeout, read_buffer_,
               [alive = alive_](const error_code& error, auto channel) {
                 if (*alive == nullptr) return;
                 if (error) return (*alive)->down(error);
                 (*alive)->connected(std::move(channel));
               });
}

void Link::connected(std::shared_ptr<net::MessageChannel> channel) {
  if (down_) return channel->close();
  channel_ = std::move(channel);
  channel_->start(*this, {kMessageFramer});
  session_.emplace(static_cast<AgentSession::Host&>(*this), channel_->outbound_streams(),
                   authentication_);
  session_->establish();
  flush();
}

std::optional<TransactionId> Link::request(const Body& body,
                                           std::optional<TransactionId> same_stream_as) {
  if (!is_open() || full()) return std::nullopt;
  return session_->request(body, same_stream_as);
}

bool Link::full() const { return queued() > net::kOutputHighWater; }

void Link::flush() {
  if (channel_) channel_->flush();
}

void Link::close() {
  if (is_open()) {
    session_->terminate();
    return flush();
  }
  boost::asio::post(executor_, [alive = alive_] {
    if (*alive != nullptr) (*alive)->down(AgentError::kTerminated);
  });
}

void Link::down(const error_code& reason) {
  if (std::exchange(down_, true)) return;
  if (channel_) channel_->close();
  // Asio's codes carry the line of its source that they come from, which would be in the text of
  // exceptions.
  observer_.on_down({reason.value(), reason.category()});
}

net::Flow Link::on_message(std::span<const std::byte> message, net::Delivery) {
  session_->on_message(message);
  return down_ ? net::Flow::kStop : net::Flow::kContinue;
}

void Link::on_malformed(net::FramingError) { down(AgentError::kProtocolError); }

void Link::on_input_done(std::optional<std::chrono::nanoseconds>) {
  if (!down_) observer_.on_turn();
  flush();  // session control may have answered something
}

void Link::on_output_drained() {
  if (!down_) observer_.on_turn();
}

void Link::on_closed(const error_code& reason) {
  // A middlebox that does not accept our certificate says so after the handshake (RFC 8446, 4.4.2).
  if (reason.category() == net::tls_category()) return down(reason);
  down(ending_.value_or(AgentError::kConnectionLost));
}

void Link::send(TransactionId tid, const Body& body) {
  const bool sent = simco::send(*channel_, tid, body);
  SIMCO_ASSERT(sent);  // request() leaves room for the few messages of session control
}

void Link::on_open(const Capabilities& capabilities) { observer_.on_open(capabilities); }

void Link::on_reply(TransactionId tid, const Body& reply) { observer_.on_reply(tid, reply); }

void Link::on_rule_event(PolicyRuleId pid, Lifetime lifetime) {
  observer_.on_rule_event(pid, lifetime);
}

void Link::on_end(SessionEnd end, std::optional<NegativeReplyCode> code) {
  const bool notified =
      end == SessionEnd::kMiddleboxTerminated || end == SessionEnd::kBadlyFormedMessage;
  if (!notified || channel_->inbound_streams() == 1) return down(error_of(end, code));
  // The replies that were due may be late on other streams. All arrive before the connection ends.
  ending_ = error_of(end, code);
  end_timer_.expires_after(net::kCloseTimeout);
  end_timer_.async_wait([alive = alive_](const error_code& error) {
    if (!error && *alive != nullptr) (*alive)->down(*(*alive)->ending_);
  });
}

}  // namespace simco::agent
