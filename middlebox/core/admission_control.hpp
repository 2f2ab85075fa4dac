// Who may have a session (RFC 4540 sections 7.2 and 7.3): what a listener demands, what an agent
// has proven, what the configuration allows it. No I/O, no clock.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/core/auth_backoff.hpp"
#include "middlebox/listener_settings.hpp"
#include "middlebox/policy/authorization.hpp"
#include "simco/session/middlebox_session.hpp"
#include "simco/wire/ip.hpp"

namespace simco::middlebox {

/// A connection as far as it matters to who is behind it.
struct Candidate {
  std::string peer;                  ///< address without port, as text
  IpAddress address;                 ///< the same as a value, without a zone
  Require require = Require::kNone;  ///< what its listener demands
  /// Names in its certificate; nothing without TLS.
  std::optional<std::vector<std::string>> certified_names;
  std::string name;         ///< of the agent that it has proven to be; empty: not authenticated
  bool has_waited = false;  ///< its token has waited for the end of a pause
};

class AdmissionControl {
 public:
  /// What it needs of its surroundings.
  class Host {
   public:
    /// Is there room for one more session?
    virtual bool has_room() const = 0;
    /// Open sessions of the agent called `name`.
    virtual std::size_t sessions_of(std::string_view name) const = 0;
    /// A token was wrong, or one that was needed is missing.
    virtual void on_authentication_failed(const Candidate& candidate) = 0;

   protected:
    ~Host() = default;
  };

  /// `secret` proves the middlebox; empty: it has no proof. `pause`: see kAuthenticationPenalty.
  AdmissionControl(policy::AgentDirectory directory, std::string secret, std::chrono::seconds pause,
                   Host& host);

  /// Stays where it is until the next exchange().
  const policy::AgentDirectory& directory() const { return *directory_; }
  /// From now on another directory says who may do what. Returns the one before, which others may
  /// still refer to.
  std::unique_ptr<policy::AgentDirectory> exchange(policy::AgentDirectory directory,
                                                   std::string secret);

  /// What becomes of a candidate that asks for a session (7.2). `challenged`: it wants the
  /// middlebox to authenticate itself. Takes one with the certificate of an agent for
  /// authenticated.
  MiddleboxSession::Admission admit(Candidate& candidate, bool challenged) const;
  /// The middlebox's token for the agent's challenge; empty without a secret.
  std::vector<std::byte> answer_challenge(std::span<const std::byte> challenge) const;
  /// What becomes of a candidate's answer to `challenge` (7.3). Without `challenge` it was not
  /// asked to authenticate.
  MiddleboxSession::AuthResult verify(Candidate& candidate,
                                      const std::optional<ChallengeOctets>& challenge,
                                      const std::optional<Token>& token, Instant now);
  /// May its session go on?
  bool still_allowed(const Candidate& candidate) const;

 private:
  using Code = std::optional<NegativeReplyCode>;

  const policy::AgentPolicy* anonymous_policy(const IpAddress& address) const;
  const policy::AgentPolicy* recognize(Candidate& candidate) const;
  /// What becomes of a candidate that is the agent `name`; nothing: it may have a session.
  Code refuse_agent(const Candidate& candidate, std::string_view name,
                    const policy::AgentPolicy& policy) const;
  /// The refusal of one more session for `name`, if there is cause.
  Code refuse_session(std::string_view name, const policy::AgentPolicy& policy) const;
  MiddleboxSession::AuthResult verify_without_token(Candidate& candidate, Instant now);
  MiddleboxSession::AuthResult verify_certificate(const Candidate& candidate, Instant now) const;
  /// For a token with `name`; without one nothing was verified.
  MiddleboxSession::AuthResult refuse_token(const Candidate& candidate,
                                            std::optional<std::string_view> name, Instant now);

  std::unique_ptr<policy::AgentDirectory> directory_;
  std::string secret_;
  AuthBackoff backoff_;
  Host& host_;
};

}  // namespace simco::middlebox
