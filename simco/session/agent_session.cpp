// SE, SA and ST from the agent's side, and the sorting of incoming messages into replies and
// notifications.
#include "simco/session/agent_session.hpp"

namespace simco {
namespace {

/// As decode(), but accepts a negative reply that is undefined or has unexpected attributes: the
/// request has failed in any case (doc/rfc4540.md, reading 33).
std::expected<Message, DecodeError> decode_leniently(std::span<const std::byte> octets) {
  auto message = decode(octets);
  if (message || section6_step(message.error()) < 4) return message;
  const Header header = read_header(octets.first<kHeaderSize>());
  if (static_cast<BasicType>(header.type.basic) != BasicType::kNegativeReply) return message;
  return Message{header.tid, NegativeReply{static_cast<NegativeReplyCode>(header.type.sub), {}}};
}

bool is_unknown_notification(std::span<const std::byte> octets, DecodeError error) {
  return error == DecodeError::kUndefinedSubType &&
         octets[0] == static_cast<std::byte>(BasicType::kNotification);
}

bool is_reply(const Message& message) {
  const auto basic = static_cast<BasicType>(type_of(message.body).basic);
  return basic == BasicType::kPositiveReply || basic == BasicType::kNegativeReply;
}

}  // namespace

void AgentSession::establish() {
  SIMCO_ASSERT(state_ == SessionState::kClosed && !control_ && !ended_);
  control_ = tids_.next();
  SeRequest request;
  // A challenge makes the middlebox answer with SA, so it can ask for our name even if it accepts
  // anonymous agents.
  if (authentication_.middlebox_secret || authentication_.credentials) {
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
  awaited_ = SubType::kSt;
  state_ = SessionState::kClosed;
  host_.send(*tid, StRequest{});
}

void AgentSession::on_message(std::span<const std::byte> octets) {
  if (ended_ && !ended_by_notification_) return;
  const auto message = decode_leniently(octets);
  if (ended_) {
    // Streams are not ordered among each other: a reply may arrive behind the AST.
    if (message && is_reply(*message)) host_.on_reply(message->tid, message->body);
    return;
  }
  if (!message) {
    if (is_unknown_notification(octets, message.error())) return;
    return end(SessionEnd::kProtocolError);
  }
  const auto basic = static_cast<BasicType>(type_of(message->body).basic);
  if (basic == BasicType::kRequest) return end(SessionEnd::kProtocolError);
  if (basic != BasicType::kNotification) {
    if (control_ == message->tid) return on_control_reply(*message);
    return host_.on_reply(message->tid, message->body);
  }
  if (const auto* are = std::get_if<AreNotification>(&message->body)) {
    return host_.on_rule_event(are->pid, are->lifetime);
  }
  ended_by_notification_ = true;
  const bool ast = std::holds_alternative<AstNotification>(message->body);
  end(ast ? SessionEnd::kMiddleboxTerminated : SessionEnd::kBadlyFormedMessage);
}

void AgentSession::on_control_reply(const Message& message) {
  control_.reset();
  if (const auto* refused = std::get_if<NegativeReply>(&message.body)) {
    return end(SessionEnd::kRefused, refused->code);
  }
  const bool establishing = awaited_ != SubType::kSt;
  if (const auto* opened = std::get_if<SeReply>(&message.body); opened && establishing) {
    return on_se_reply(*opened);
  }
  if (const auto* asked = std::get_if<SaReply>(&message.body); asked && awaited_ == SubType::kSe) {
    return on_sa_reply(*asked);
  }
  const bool terminated = std::holds_alternative<StReply>(message.body) && !establishing;
  end(terminated ? SessionEnd::kTerminated : SessionEnd::kProtocolError);
}

void AgentSession::on_se_reply(const SeReply& reply) {
  // A middlebox that was asked to prove itself must not get around it.
  if (awaited_ == SubType::kSe && authentication_.middlebox_secret) {
    return end(SessionEnd::kMiddleboxNotAuthentic);
  }
  state_ = SessionState::kOpen;
  host_.on_open(reply.capabilities);
}

void AgentSession::on_sa_reply(const SaReply& reply) {
  if (authentication_.middlebox_secret) {
    const auto& secret = *authentication_.middlebox_secret;
    if (!reply.token || !check_middlebox_token(reply.token->octets, secret, *challenge_)) {
      return end(SessionEnd::kMiddleboxNotAuthentic);
    }
  }
  if (reply.challenge && !authentication_.credentials) {
    return end(SessionEnd::kAuthenticationNeeded);
  }
  state_ = SessionState::kNoAuth;
  awaited_ = SubType::kSa;
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
