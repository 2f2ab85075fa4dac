// The middlebox's side of one session: message format checking (RFC 4540 section 6) and the session
// state machine (section 7, figure 41). No sockets, no clock: messages and times go in; messages,
// requests to execute, a close and a timer wish come out through Host.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "simco/session/authentication.hpp"
#include "simco/session/session_state.hpp"
#include "simco/session/tid_allocator.hpp"
#include "simco/wire/codec.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/messages.hpp"

namespace simco {

class MiddleboxSession {
 public:
  struct Options {
    /// Section 6 step 2: longest silence inside a message. Also the longest time that a connection
    /// may stay without an open session.
    std::chrono::milliseconds message_timeout{60'000};
    std::uint16_t outbound_streams = 1;
  };

  /// What becomes of an agent that asks for a session, as far as can be said before it has
  /// authenticated (7.2).
  struct Admission {
    std::optional<NegativeReplyCode> refusal;  ///< it gets this, and the connection is closed
    bool challenge = false;                    ///< it has to authenticate
  };

  /// What becomes of an agent's proof (7.3).
  struct AuthResult {
    enum class Kind : std::uint8_t {
      kAccepted,
      kRefused,  ///< with `code`, not before `at`
      kLater,    ///< ask again at `at`
    };
    Kind kind = Kind::kAccepted;
    NegativeReplyCode code = NegativeReplyCode::kAuthenticationFailed;
    Instant at;
  };

  /// What a session needs of its surroundings. A call may come back into the session with reply()
  /// (and with nothing else) before it returns.
  class Host {
   public:
    /// Send a message to the agent.
    virtual void send(TransactionId tid, const Body& body) = 0;
    /// Carry out a policy rule request; answer later, exactly once, with MiddleboxSession::reply().
    virtual void execute(TransactionId tid, const Body& request) = 0;
    /// Is there room for another session (7.2, 'lack of resources')?
    virtual bool has_room() = 0;
    /// `challenged`: the agent wants the middlebox to authenticate itself.
    virtual Admission admit(bool challenged) = 0;
    /// Fresh random octets.
    virtual ChallengeOctets make_challenge() = 0;
    /// The token that answers the agent's challenge; empty where the middlebox has no secret.
    virtual std::vector<std::byte> answer_challenge(std::span<const std::byte> challenge) = 0;
    /// The agent's answer to `challenge`, or none where it gave none. Without `challenge` it was
    /// not asked to authenticate.
    virtual AuthResult verify(const std::optional<ChallengeOctets>& challenge,
                              const std::optional<Token>& token) = 0;
    /// The session becomes OPEN; answers what the agent is told of the middlebox.
    virtual Capabilities opened() = 0;
    /// The session is CLOSED. Close the connection when all that was sent has gone out.
    virtual void close() = 0;

   protected:
    ~Host() = default;
  };

  MiddleboxSession(const Options& options, Host& host, Instant now);

  SessionState state() const { return state_; }
  /// A proof of the agent waits to be verified, or the refusal for its time. No message may come
  /// meanwhile: the input has to pause.
  bool holding() const { return held_.has_value(); }
  /// True once the session takes no more input and only waits for replies, or is over.
  bool leaving() const { return leaving_; }
  /// Requests handed to execute() and not answered yet.
  std::size_t in_flight() const { return in_flight_; }

  /// A whole message whose header is consistent. Octets fewer than the header asks for mean that
  /// the transport cut an overlong message: it is answered as badly formed.
  void on_message(std::span<const std::byte> octets);
  /// The header of a message was not consistent (section 6 step 1).
  void on_malformed();
  /// Octets arrived; `mid_message` tells whether a message is unfinished (section 6 step 2).
  void on_octets(bool mid_message, Instant now);

  /// When on_deadline() wants to be called, if at all. Calling it earlier does no harm.
  std::optional<Instant> deadline() const { return deadline_; }
  void on_deadline(Instant now);

  /// Answer of a request that execute() got.
  void reply(TransactionId tid, const Body& body);
  /// ARE notification (8.9) on the stream of `creating_tid`, the request that created the rule.
  void notify(PolicyRuleId pid, Lifetime lifetime, TransactionId creating_tid);
  /// Nothing can be queued any more but one notification, because the agent does not read: AST, and
  /// close. Replies that are due are dropped.
  void cut_off();
  /// The connection is gone (7.6): nothing can be sent any more, replies that are due are dropped.
  void connection_lost();
  /// The middlebox ends the session: AST after the replies that are due (7.5), or silence where no
  /// session is established.
  void terminate();

 private:
  void dispatch(const Message& message);
  void on_se(TransactionId tid, const SeRequest& request);
  void on_sa(TransactionId tid, const SaRequest& request);
  void verify(TransactionId tid, const std::optional<Token>& token);
  void on_st(TransactionId tid);
  void open(TransactionId tid);
  bool takes(std::uint8_t sub_type) const;
  void refuse(TransactionId tid, NegativeReplyCode code);
  void refuse_and_close(TransactionId tid, NegativeReplyCode code);
  /// Sends `farewell` after the last outstanding reply, then closes.
  void leave(std::optional<Message> farewell);
  void finish_if_idle();
  TransactionId notification_tid();

  Options options_;
  Host& host_;
  TidAllocator notification_tids_;
  std::optional<Instant> deadline_;
  std::optional<Message> farewell_;
  std::optional<ChallengeOctets> challenge_;  ///< the agent has to answer it
  /// A proof that is verified later, or its refusal that is sent later: at deadline_.
  struct Held {
    TransactionId tid;
    std::optional<std::vector<std::byte>> token;
    std::optional<NegativeReplyCode> refusal;
  };
  std::optional<Held> held_;
  std::size_t in_flight_ = 0;
  SessionState state_ = SessionState::kClosed;
  bool leaving_ = false;
  bool closed_ = false;
  bool mid_message_ = false;
};

}  // namespace simco
