#include "simco/session/agent_session.hpp"

namespace simco {

void AgentSession::establish() {
  SIMCO_ASSERT(state_ == SessionState::kClosed && !control_ && !ended_);
  control_ = tids_.next();
  SeRequest request;
  if (authentication_.middlebox_secret) {
    challenge_ = random_challenge();
    request.challenge = Challenge{{*challenge_}};
  }
  host_.send(*control_, request);
}

std::optional<TransactionId> AgentSession::request(const Body& body,
                                                   std::optional<TransactionId> same_stream_as) {
  if (state_ != SessionState::kOpen) return std::nullopt;
  const auto tid = same_stream_as ? tids_.next_like(*same_stream_as) : tids_.next();
  if (tid) host_.send(*tid, body);
  return tid;
}

void AgentSession::terminate() {
  if (ended_ || state_ == SessionState::kClosed) return;
  const auto tid = tids_.next();
  if (!tid) return end(SessionEnd::kTerminated);
  control_ = tid;
  state_ = SessionState::kClosed;
  host_.send(*tid, StRequest{});
}

void AgentSession::on_message(std::span<const std::byte> octets) {
  if (ended_) return;
  const auto message = decode(octets);
  if (!message) return end(SessionEnd::kProtocolError);
  const auto basic = static_cast<BasicType>(type_of(message->body).basic);
  if (basic == BasicType::kRequest) return end(SessionEnd::kProtocolError);
  if (basic != BasicType::kNotification) {
    if (control_ == message->tid) return on_control_reply(*message);
    return host_.on_reply(message->tid, message->body);
  }
  if (const auto* are = std::get_if<AreNotification>(&message->body)) {
    return host_.on_rule_event(are->pid, are->lifetime);
  }
  const bool ast = std::holds_alternative<AstNotification>(message->body);
  end(ast ? SessionEnd::kMiddleboxTerminated : SessionEnd::kBadlyFormedMessage);
}

void AgentSession::on_control_reply(const Message& message) {
  control_.reset();
  if (const auto* refused = std::get_if<NegativeReply>(&message.body)) {
    return end(SessionEnd::kRefused, refused->code);
  }
  if (const auto* opened = std::get_if<SeReply>(&message.body)) {
    // A middlebox that was asked to prove itself must not get around it.
    if (challenge_) return end(SessionEnd::kMiddleboxNotAuthentic);
    state_ = SessionState::kOpen;
    return host_.on_open(opened->capabilities);
  }
  if (const auto* asked = std::get_if<SaReply>(&message.body)) return on_sa_reply(*asked);
  const bool terminated = std::holds_alternative<StReply>(message.body);
  end(terminated ? SessionEnd::kTerminated : SessionEnd::kProtocolError);
}

void AgentSession::on_sa_reply(const SaReply& reply) {
  if (challenge_) {
    const auto& secret = *authentication_.middlebox_secret;
    if (!reply.token || !check_middlebox_token(reply.token->octets, secret, *challenge_)) {
      return end(SessionEnd::kMiddleboxNotAuthentic);
    }
    challenge_.reset();
  }
  if (reply.challenge && !authentication_.credentials) {
    return end(SessionEnd::kAuthenticationNeeded);
  }
  state_ = SessionState::kNoAuth;
  control_ = tids_.next();
  SaRequest request;
  std::vector<std::byte> token;
  if (reply.challenge) {
    token = make_agent_token(*authentication_.credentials, reply.challenge->octets);
    request.token = Token{{token}};
  }
  host_.send(*control_, request);
}

void AgentSession::end(SessionEnd reason, std::optional<NegativeReplyCode> code) {
  ended_ = true;
  state_ = SessionState::kClosed;
  host_.on_end(reason, code);
}

}  // namespace simco
