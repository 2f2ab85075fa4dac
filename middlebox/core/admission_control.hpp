// Decides which agent gets a session (RFC 4540 sections 7.2 and 7.3), by the listener's
// requirement, the agent's authentication, and the configuration. No I/O, no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "middlebox/core/options.hpp"
#include "middlebox/limits.hpp"
#include "middlebox/policy/authorization.hpp"
#include "simco/session/middlebox_session.hpp"
#include "simco/wire/instant.hpp"
#include "simco/wire/ip.hpp"

namespace simco::middlebox {

/// Slows down the guessing of secrets: after a wrong token, further tokens for that name from that
/// source are verified only after a back-off, and the refusal itself is delayed. The back-off does
/// not grow with the number of wrong tokens, so a right one never waits longer than that.
class AuthBackoff {
 public:
  /// `pause`: see kAuthenticationPenalty.
  explicit AuthBackoff(std::chrono::seconds pause = kAuthenticationPenalty) : pause_(pause) {}

  /// Returns when a token for `name` from `address` that arrived now may be verified.
  Instant not_before(const IpAddress& address, std::string_view name, Instant now) const;
  /// A token for `name` from `address` was wrong. Returns when to send the refusal.
  Instant failed(const IpAddress& address, std::string_view name, Instant now);
  /// A token for `name` from `address` was right: further ones are verified at once.
  void succeeded(const IpAddress& address, std::string_view name);

  std::size_t size() const { return pauses_.size(); }
  std::size_t trusted() const { return trusted_.size(); }

 private:
  /// Source and a hash of the name. Another name with the same hash can only cause a back-off.
  using Key = std::pair<IpAddress, std::size_t>;
  static Key key_of(const IpAddress& address, std::string_view name);
  void forget(Instant now);

  std::chrono::seconds pause_;
  std::map<Key, Instant> pauses_;  ///< ends of back-offs
  std::deque<Key> order_;          ///< the same keys, in order of arrival
  std::set<Key> trusted_;
  std::deque<Key> trusted_order_;
};

/// A connection that asks for a session, or has one.
struct Candidate {
  std::string peer;                  ///< address without port, as text
  std::string endpoint;              ///< address and port, for the log
  IpAddress address;                 ///< the same as a value, without a zone
  Require require = Require::kNone;  ///< the requirement of its listener
  /// Names in its certificate; nullopt without TLS.
  std::optional<std::vector<std::string>> certified_names;
  std::string name;         ///< name under which it has authenticated; empty: not authenticated
  bool has_waited = false;  ///< its token has waited for the end of a back-off
  /// Why it was refused last: a right, a limit or a requirement, for the log.
  std::string refused_because;
};

/// Why there is no room for one more session.
inline constexpr std::string_view kSessionsFull = "--max-sessions is reached";

/// Admission and authentication. Not thread-safe.
class AdmissionControl {
 public:
  /// The owner of AdmissionControl.
  class Host {
   public:
    /// True if there is room for one more session.
    virtual bool has_room() const = 0;
    /// Returns the number of open sessions of the agent called `name`.
    virtual std::size_t sessions_of(std::string_view name) const = 0;
    /// A token was wrong, or a required one is missing; `name` is the one that was tried, or
    /// empty. The reason is in the candidate.
    virtual void on_authentication_failed(const Candidate& candidate, std::string_view name) = 0;

   protected:
    ~Host() = default;
  };

  /// `secret`: the middlebox's own; empty: none. `pause`: see kAuthenticationPenalty.
  AdmissionControl(policy::AgentDirectory directory, std::string secret, std::chrono::seconds pause,
                   Host& host);

  /// Valid until the next exchange().
  const policy::AgentDirectory& directory() const { return *directory_; }
  /// Applies another directory. Returns the previous one, to which there may still be references.
  std::unique_ptr<policy::AgentDirectory> exchange(policy::AgentDirectory directory,
                                                   std::string secret);

  /// Decides about a candidate that asks for a session (7.2). `challenged`: it wants the middlebox
  /// to authenticate itself. A candidate with the certificate of an agent becomes authenticated.
  MiddleboxSession::Admission admit(Candidate& candidate, bool challenged) const;
  /// Returns the middlebox's token for the agent's challenge; empty without a secret.
  std::vector<std::byte> answer_challenge(std::span<const std::byte> challenge) const;
  /// Verifies a candidate's answer to `challenge` (7.3). Without `challenge`, it was not asked to
  /// authenticate.
  MiddleboxSession::AuthResult verify(Candidate& candidate,
                                      const std::optional<ChallengeOctets>& challenge,
                                      const std::optional<Token>& token, Instant now);
  /// True if its session may continue.
  bool still_allowed(const Candidate& candidate) const;

 private:
  using Code = std::optional<NegativeReplyCode>;

  const policy::AgentPolicy* anonymous_policy(const IpAddress& address) const;
  const policy::AgentPolicy* recognize(Candidate& candidate) const;
  /// Returns the refusal for a candidate that is the agent `name`, or nullopt if it may have a
  /// session.
  Code refuse_agent(Candidate& candidate, std::string_view name,
                    const policy::AgentPolicy& policy) const;
  /// Returns the refusal of one more session for `name`, or nullopt.
  Code refuse_session(Candidate& candidate, std::string_view name,
                      const policy::AgentPolicy& policy) const;
  MiddleboxSession::AuthResult verify_without_token(Candidate& candidate, Instant now);
  MiddleboxSession::AuthResult verify_certificate(Candidate& candidate, Instant now) const;
  /// Refuses a token for `name`; without `name`, nothing was verified.
  MiddleboxSession::AuthResult refuse_token(const Candidate& candidate,
                                            std::optional<std::string_view> name, Instant now);

  std::unique_ptr<policy::AgentDirectory> directory_;
  std::string secret_;
  AuthBackoff backoff_;
  Host& host_;
};

}  // namespace simco::middlebox
