// The middlebox's side of one session: message format checking (RFC 4540 section 6) and the session
// state machine (section 7, figure 41). No sockets, no clock: messages and times go in; messages,
// requests to execute, the close and deadlines come out.
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

/// The session state machine of a middlebox. Not thread-safe.
class MiddleboxSession {
 public:
  struct Options {
    /// Maximum silence within a message (section 6 step 2). Also the maximum time without an open
    /// session.
    std::chrono::milliseconds message_timeout{60'000};
    std::uint16_t outbound_streams = 1;
  };

  /// The decision about an agent that asks for a session, before it has authenticated (7.2).
  struct Admission {
    std::optional<NegativeReplyCode>
        refusal;             ///< reply that is sent before the connection is closed
    bool challenge = false;  ///< the agent must authenticate
  };

  /// The decision about an agent's token (7.3).
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

  /// The owner of a session. A call may re-enter the session with reply(), and with nothing else,
  /// before it returns.
  class Host {
   public:
    /// Send a message to the agent.
    virtual void send(TransactionId tid, const Body& body) = 0;
    /// Carry out a policy rule request, and call MiddleboxSession::reply() exactly once, later.
    virtual void execute(TransactionId tid, const Body& request) = 0;
    /// True if there is room for another session (7.2, 'lack of resources').
    virtual bool has_room() = 0;
    /// `challenged`: the agent wants the middlebox to authenticate itself.
    virtual Admission admit(bool challenged) = 0;
    /// Returns new random octets.
    virtual ChallengeOctets make_challenge() = 0;
    /// Returns the token for the agent's challenge; empty if the middlebox has no secret.
    virtual std::vector<std::byte> answer_challenge(std::span<const std::byte> challenge) = 0;
    /// Verifies the agent's answer to `challenge`, if it sent a challenge. Without `challenge`, it
    /// was not asked to authenticate.
    virtual AuthResult verify(const std::optional<ChallengeOctets>& challenge,
                              const std::optional<Token>& token) = 0;
    /// The session becomes OPEN. Returns the capabilities that are reported to the agent.
    virtual Capabilities opened() = 0;
    /// The session is CLOSED. Close the connection when all output has been sent.
    virtual void close() = 0;

   protected:
    ~Host() = default;
  };

  MiddleboxSession(const Options& options, Host& host, Instant now);

  SessionState state() const { return state_; }
  /// True while a token waits to be verified, or its refusal to be sent. No message may be passed
  /// in meanwhile: the input must pause.
  bool holding() const { return held_.has_value(); }
  /// True once the session accepts no more input and only waits for replies, or has ended.
  bool leaving() const { return leaving_; }
  /// Returns the number of requests passed to execute() and not answered yet.
  std::size_t in_flight() const { return in_flight_; }

  /// Takes a complete message whose header is consistent. If there are fewer octets than the header
  /// says, the transport has cut an overlong message, which is answered as badly formed.
  void on_message(std::span<const std::byte> octets);
  /// The header of a message was not consistent (section 6 step 1).
  void on_malformed();
  /// Octets arrived; `mid_message`: a message is incomplete (section 6 step 2), and its last octets
  /// came at `last`.
  void on_octets(bool mid_message, Instant last);

  /// Returns when on_deadline() must be called, if at all. Calling it earlier is harmless.
  std::optional<Instant> deadline() const { return deadline_; }
  void on_deadline(Instant now);

  /// Sends the reply to a request that was passed to execute().
  void reply(TransactionId tid, const Body& body);
  /// Sends an ARE notification (8.9) on the stream of `creating_tid`, the request that created the
  /// rule.
  void notify(PolicyRuleId pid, Lifetime lifetime, TransactionId creating_tid);
  /// Ends the session of an agent that does not read: AST, then close. Outstanding replies are
  /// dropped.
  void cut_off();
  /// The connection was lost (7.6): outstanding replies are dropped.
  void connection_lost();
  /// The middlebox ends the session: AST after the outstanding replies (7.5), or nothing if no
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
  /// Sends `last` after the last outstanding reply, then closes.
  void leave(std::optional<Message> last);
  void finish_if_idle();
  TransactionId notification_tid();

  Options options_;
  Host& host_;
  TidAllocator notification_tids_;
  std::optional<Instant> deadline_;
  std::optional<Message> last_message_;
  std::optional<ChallengeOctets> challenge_;  ///< that the agent must answer
  /// A token that is verified at deadline_, or whose refusal is sent then.
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
