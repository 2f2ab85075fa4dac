// The agent's side of one session (RFC 4540 section 7 seen from the other end): establishing and
// ending it, choosing TIDs, telling replies from notifications. No sockets, no clock, no timers:
// the caller owns transactions and their timeouts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "simco/session/authentication.hpp"
#include "simco/session/session_state.hpp"
#include "simco/session/tid_allocator.hpp"
#include "simco/wire/codec.hpp"
#include "simco/wire/messages.hpp"

namespace simco {

/// Why a session of an agent ended.
enum class SessionEnd : std::uint8_t {
  kTerminated,             ///< ST was answered
  kRefused,                ///< SE or SA got a negative reply
  kMiddleboxTerminated,    ///< AST notification
  kBadlyFormedMessage,     ///< BFM notification: the middlebox rejected a message as badly formed
  kAuthenticationNeeded,   ///< the middlebox requires authentication and we have no secret
  kMiddleboxNotAuthentic,  ///< the middlebox failed to authenticate itself
  kProtocolError,          ///< the middlebox violated the protocol
};

/// The session state machine of an agent. Not thread-safe.
class AgentSession {
 public:
  /// Receives the output of the session. Calls must not re-enter the session, except that
  /// on_open(), on_reply() and on_rule_event() may call request().
  class Host {
   public:
    /// Send a message to the middlebox.
    virtual void send(TransactionId tid, const Body& body) = 0;
    /// The session is OPEN.
    virtual void on_open(const Capabilities& capabilities) = 0;
    /// Reply to a request of request(), or to a TID that was never used: the caller knows. The code
    /// of a negative reply may be undefined in the RFC.
    virtual void on_reply(TransactionId tid, const Body& reply) = 0;
    /// ARE notification: the rule now lives this long; 0: it is gone.
    virtual void on_rule_event(PolicyRuleId pid, Lifetime lifetime) = 0;
    /// The session ended; close the connection. `code` is set with kRefused. After an AST or a BFM,
    /// on_reply() may still follow: replies on other streams may be late.
    virtual void on_end(SessionEnd end, std::optional<NegativeReplyCode> code) = 0;

   protected:
    ~Host() = default;
  };

  /// How the two sides authenticate.
  struct Authentication {
    std::optional<Credentials> credentials;  ///< ours, if the middlebox asks for them
    std::optional<std::string>
        middlebox_secret;  ///< if set, the middlebox must authenticate with it
  };

  /// `streams`: outbound streams of the association at this end (TCP: 1).
  AgentSession(Host& host, std::uint16_t streams) : host_(host), tids_(streams) {}
  AgentSession(Host& host, std::uint16_t streams, Authentication authentication)
      : host_(host), tids_(streams), authentication_(std::move(authentication)) {}

  SessionState state() const { return state_; }

  /// Sends the SE request, with a challenge if either side authenticates.
  void establish();
  /// Sends a policy rule request and returns its TID. With `same_stream_as`, the TID is on that
  /// TID's stream. Sends nothing and returns nullopt if the session is not OPEN, or if the stream
  /// has no TID left, in which case a new session is needed.
  std::optional<TransactionId> request(const Body& body,
                                       std::optional<TransactionId> same_stream_as = std::nullopt);
  /// Sends the ST request if a session is established.
  void terminate();

  /// Takes a complete message from the middlebox.
  void on_message(std::span<const std::byte> octets);

 private:
  void on_control_reply(const Message& message);
  void on_se_reply(const SeReply& reply);
  void on_sa_reply(const SaReply& reply);
  void end(SessionEnd reason, std::optional<NegativeReplyCode> code = std::nullopt);

  Host& host_;
  TidAllocator tids_;
  Authentication authentication_;
  std::optional<ChallengeOctets> challenge_;  ///< that the middlebox must answer
  SessionState state_ = SessionState::kClosed;
  /// TID of the SE, SA or ST request that is not answered yet.
  std::optional<TransactionId> control_;
  SubType awaited_ = SubType::kSe;  ///< which of them that was
  bool ended_ = false;
  bool ended_by_notification_ = false;  ///< BFM or AST
};

}  // namespace simco
