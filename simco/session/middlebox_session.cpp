// Checks each message by the steps of section 6, then dispatches by the state of figure 41. AST and
// the reply to ST are sent after the last outstanding reply.
#include "simco/session/middlebox_session.hpp"

#include <utility>

namespace simco {

MiddleboxSession::MiddleboxSession(const Options& options, Host& host, Instant now)
    : options_(options),
      host_(host),
      notification_tids_(options.outbound_streams),
      deadline_(now + options.message_timeout) {}

bool MiddleboxSession::takes(std::uint8_t sub_type) const {
  switch (static_cast<SubType>(sub_type)) {
    case SubType::kSe: return true;
    case SubType::kSa:
    case SubType::kSt: return state_ != SessionState::kClosed;
    case SubType::kPrr:
    case SubType::kPer:
    case SubType::kPea:
    case SubType::kPdr:
    case SubType::kPlc:
    case SubType::kPrs:
    case SubType::kPrl: return state_ == SessionState::kOpen;
    case SubType::kPrd:
    case SubType::kPes:
    case SubType::kPds: return false;  // replies only
  }
  return false;
}

void MiddleboxSession::on_message(std::span<const std::byte> octets) {
  SIMCO_ASSERT(octets.size() >= kHeaderSize && !held_);
  if (leaving_) return;  // 7.4: requests after ST are ignored
  const Header header = read_header(octets.first<kHeaderSize>());
  // Section 6 step 3.
  if (header.type.basic != static_cast<std::uint8_t>(BasicType::kRequest)) {
    return refuse(header.tid, NegativeReplyCode::kWrongBasicType);
  }
  // Step 4.
  if (!takes(header.type.sub)) return refuse(header.tid, NegativeReplyCode::kWrongSubType);
  // Step 5.
  const auto payload = octets.subspan(kHeaderSize);
  if (payload.size() != header.length) {
    return refuse(header.tid, NegativeReplyCode::kBadlyFormedRequest);
  }
  const auto message = decode_payload(header, payload);
  if (!message) return refuse(header.tid, NegativeReplyCode::kBadlyFormedRequest);
  dispatch(*message);
}

void MiddleboxSession::dispatch(const Message& message) {
  if (const auto* se = std::get_if<SeRequest>(&message.body)) return on_se(message.tid, *se);
  if (const auto* sa = std::get_if<SaRequest>(&message.body)) return on_sa(message.tid, *sa);
  if (std::holds_alternative<StRequest>(message.body)) return on_st(message.tid);
  SIMCO_ASSERT(state_ == SessionState::kOpen);
  ++in_flight_;
  host_.execute(message.tid, message.body);
}

void MiddleboxSession::on_se(TransactionId tid, const SeRequest& request) {
  // 7.2: applicable in CLOSED only; elsewhere the state stays.
  if (state_ != SessionState::kClosed) {
    return host_.send(tid, NegativeReply{NegativeReplyCode::kNotApplicable, {}});
  }
  if (!host_.has_room()) return refuse_and_close(tid, NegativeReplyCode::kLackOfResources);
  const auto admission = host_.admit(request.challenge.has_value());
  // 7.2: the connection's security comes before the request's content.
  if (admission.refusal == NegativeReplyCode::kSecurityInsufficient) {
    return refuse_and_close(tid, *admission.refusal);
  }
  if (request.version != kProtocolVersion) {
    host_.send(tid, NegativeReply{NegativeReplyCode::kVersionMismatch, kProtocolVersion});
    return leave(std::nullopt);
  }
  if (admission.refusal) return refuse_and_close(tid, *admission.refusal);
  if (!request.challenge && !admission.challenge) return open(tid);
  state_ = SessionState::kNoAuth;
  SaReply reply;
  if (admission.challenge) {
    challenge_ = host_.make_challenge();
    reply.challenge = Challenge{{*challenge_}};
  }
  std::vector<std::byte> token;
  if (request.challenge) {
    token = host_.answer_challenge(request.challenge->octets);
    reply.token = Token{{token}};
  }
  host_.send(tid, reply);
}

void MiddleboxSession::on_sa(TransactionId tid, const SaRequest& request) {
  // 7.3: applicable in NOAUTH only.
  if (state_ != SessionState::kNoAuth) {
    return host_.send(tid, NegativeReply{NegativeReplyCode::kNotApplicable, {}});
  }
  verify(tid, request.token);
}

void MiddleboxSession::verify(TransactionId tid, const std::optional<Token>& token) {
  const auto result = host_.verify(challenge_, token);
  switch (result.kind) {
    case AuthResult::Kind::kAccepted: return open(tid);
    case AuthResult::Kind::kRefused: held_ = Held{tid, {}, result.code}; break;
    case AuthResult::Kind::kLater:
      held_ = Held{tid, {}, {}};
      if (token) held_->token.emplace(token->octets.begin(), token->octets.end());
      break;
  }
  deadline_ = result.at;
}

void MiddleboxSession::on_st(TransactionId tid) {
  leave(Message{tid, StReply{}});  // 7.4
}

void MiddleboxSession::open(TransactionId tid) {
  state_ = SessionState::kOpen;
  if (!mid_message_) deadline_.reset();
  challenge_.reset();
  host_.send(tid, SeReply{host_.opened()});
}

void MiddleboxSession::refuse(TransactionId tid, NegativeReplyCode code) {
  if (state_ != SessionState::kOpen) return refuse_and_close(tid, code);
  host_.send(tid, NegativeReply{code, {}});
}

void MiddleboxSession::refuse_and_close(TransactionId tid, NegativeReplyCode code) {
  host_.send(tid, NegativeReply{code, {}});
  leave(std::nullopt);
}

TransactionId MiddleboxSession::notification_tid() {
  // BFM and AST are the last of their session: should all 2^32 TIDs be used up, 0 does no harm.
  return notification_tids_.next().value_or(TransactionId{0});
}

void MiddleboxSession::on_malformed() {
  if (leaving_) return;
  held_.reset();
  const auto tid = notification_tid();
  host_.send(tid, BfmNotification{});
  if (state_ == SessionState::kClosed) return leave(std::nullopt);
  // On the stream of the BFM, so that it arrives behind it.
  leave(Message{notification_tids_.next_like(tid).value_or(TransactionId{0}), AstNotification{}});
}

void MiddleboxSession::on_octets(bool mid_message, Instant last) {
  mid_message_ = mid_message;
  if (leaving_ || held_) return;  // held: the deadline is that of the token
  // Before the session is open, no message changes its deadline.
  if (state_ != SessionState::kOpen) return;
  if (mid_message) {
    deadline_ = last + options_.message_timeout;
  } else {
    deadline_.reset();
  }
}

void MiddleboxSession::on_deadline(Instant now) {
  if (leaving_ || !deadline_ || now < *deadline_) return;
  deadline_.reset();
  if (const auto held = std::exchange(held_, std::nullopt)) {
    if (held->refusal) return refuse_and_close(held->tid, *held->refusal);
    return verify(held->tid, held->token ? std::optional(Token{{*held->token}}) : std::nullopt);
  }
  if (mid_message_) return on_malformed();
  terminate();  // no session was opened in time
}

void MiddleboxSession::reply(TransactionId tid, const Body& body) {
  SIMCO_ASSERT(in_flight_ > 0);
  --in_flight_;
  if (!closed_) host_.send(tid, body);
  finish_if_idle();
}

void MiddleboxSession::notify(PolicyRuleId pid, Lifetime lifetime, TransactionId creating_tid) {
  if (state_ != SessionState::kOpen || leaving_) return;
  const auto tid = notification_tids_.next_like(creating_tid);
  // Out of TIDs on this stream: 4.2.5 forbids reuse, so the session must end.
  if (!tid) return terminate();
  host_.send(*tid, AreNotification{pid, lifetime});
}

void MiddleboxSession::terminate() {
  if (leaving_) return;
  held_.reset();
  if (state_ == SessionState::kClosed) return leave(std::nullopt);
  leave(Message{notification_tid(), AstNotification{}});
}

void MiddleboxSession::cut_off() {
  if (closed_) return;
  const bool established = state_ != SessionState::kClosed;
  connection_lost();
  if (established) host_.send(notification_tid(), AstNotification{});
  host_.close();
}

void MiddleboxSession::connection_lost() {
  held_.reset();
  leaving_ = true;
  closed_ = true;
  state_ = SessionState::kClosed;
  deadline_.reset();
}

void MiddleboxSession::leave(std::optional<Message> last) {
  SIMCO_ASSERT(!leaving_);
  leaving_ = true;
  deadline_.reset();
  last_message_ = last;
  finish_if_idle();
}

void MiddleboxSession::finish_if_idle() {
  if (!leaving_ || closed_ || in_flight_ != 0) return;
  closed_ = true;
  state_ = SessionState::kClosed;
  if (last_message_) host_.send(last_message_->tid, last_message_->body);
  host_.close();
}

}  // namespace simco
