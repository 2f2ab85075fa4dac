// The decisions at SE and SA: by certificate, by challenge and token, or by address for agents that
// do not authenticate. Wrong tokens start a back-off; unknown names take as long as known ones.
#include "middlebox/core/admission_control.hpp"

#include <algorithm>
#include <functional>

#include "middlebox/observe/log_lines.hpp"
#include "simco/net/crowd.hpp"
#include "simco/session/authentication.hpp"

namespace simco::middlebox {

AuthBackoff::Key AuthBackoff::key_of(const IpAddress& address, std::string_view name) {
  return {net::source_of(address), std::hash<std::string_view>{}(name)};
}

Instant AuthBackoff::not_before(const IpAddress& address, std::string_view name,
                                Instant now) const {
  const auto key = key_of(address, name);
  const auto found = pauses_.find(key);
  if (found == pauses_.end() || trusted_.contains(key)) return now;
  return std::max(found->second, now);
}

Instant AuthBackoff::failed(const IpAddress& address, std::string_view name, Instant now) {
  forget(now);
  const auto key = key_of(address, name);
  const Instant until = now + pause_;
  if (pauses_.insert_or_assign(key, until).second) order_.push_back(key);
  return until;
}

void AuthBackoff::succeeded(const IpAddress& address, std::string_view name) {
  const auto key = key_of(address, name);
  if (!trusted_.insert(key).second) return;
  trusted_order_.push_back(key);
  if (trusted_order_.size() <= kAuthTrustedMax) return;
  trusted_.erase(trusted_order_.front());
  trusted_order_.pop_front();
}

// Removes expired entries, oldest first, and one more if the table is full.
void AuthBackoff::forget(Instant now) {
  while (!order_.empty() &&
         (order_.size() >= kAuthPausesMax || pauses_.at(order_.front()) <= now)) {
    pauses_.erase(order_.front());
    order_.pop_front();
  }
}

using AuthResult = MiddleboxSession::AuthResult;
using Kind = AuthResult::Kind;
using enum NegativeReplyCode;

namespace {

AuthResult result_of(const std::optional<NegativeReplyCode>& refusal, Instant now) {
  return refusal ? AuthResult{Kind::kRefused, *refusal, now} : AuthResult{};
}

/// Notes why, and returns `code`.
NegativeReplyCode because(Candidate& candidate, std::string why, NegativeReplyCode code) {
  candidate.refused_because = std::move(why);
  return code;
}

std::string agent_text(std::string_view name) { return "agent " + in_quotes(name); }

/// The state of a candidate that must authenticate.
std::string unknown(const Candidate& candidate) {
  if (!candidate.certified_names) return "no [[agent]] without a secret is for this address";
  if (candidate.certified_names->empty()) return "it has no certificate, or one without a name";
  return "no [[agent]] with certificate = true has the name in its certificate, " +
         in_quotes(candidate.certified_names->front());
}

}  // namespace

AdmissionControl::AdmissionControl(policy::AgentDirectory directory, std::string secret,
                                   std::chrono::seconds pause, Host& host)
    : directory_(std::make_unique<policy::AgentDirectory>(std::move(directory))),
      secret_(std::move(secret)),
      backoff_(pause),
      host_(host) {}

std::unique_ptr<policy::AgentDirectory> AdmissionControl::exchange(policy::AgentDirectory directory,
                                                                   std::string secret) {
  secret_ = std::move(secret);
  return std::exchange(directory_, std::make_unique<policy::AgentDirectory>(std::move(directory)));
}

// --- Identity ------------------------------------------------------------------------------------

const policy::AgentPolicy* AdmissionControl::anonymous_policy(const IpAddress& address) const {
  const auto* policy = directory_->find_anonymous(address);
  return policy != nullptr && policy->transactions.any() ? policy : nullptr;
}

const policy::AgentPolicy* AdmissionControl::recognize(Candidate& candidate) const {
  if (!candidate.certified_names) return nullptr;
  for (const auto& name : *candidate.certified_names) {
    if (const auto* policy = directory_->find_named(name)) {
      candidate.name = name;
      return policy;
    }
  }
  return nullptr;
}

AdmissionControl::Code AdmissionControl::refuse_session(Candidate& candidate, std::string_view name,
                                                        const policy::AgentPolicy& policy) const {
  if (!host_.has_room()) return because(candidate, std::string(kSessionsFull), kLackOfResources);
  if (host_.sessions_of(name) < policy.sessions_max) return std::nullopt;
  return because(candidate,
                 "'max-sessions' of " + agent_text(name) + " (" +
                     std::to_string(policy.sessions_max) + ") is reached",
                 kLackOfResources);
}

AdmissionControl::Code AdmissionControl::refuse_agent(Candidate& candidate, std::string_view name,
                                                      const policy::AgentPolicy& policy) const {
  if (!policy.allows_source(candidate.address)) {
    return because(candidate, "'sources' of " + agent_text(name) + " do not include its address",
                   kNoAuthorization);
  }
  if (policy.transactions.none()) {
    return because(candidate, "'transactions' of " + agent_text(name) + " are empty",
                   kNoAuthorization);
  }
  return refuse_session(candidate, name, policy);
}

bool AdmissionControl::still_allowed(const Candidate& candidate) const {
  if (candidate.name.empty()) return anonymous_policy(candidate.address) != nullptr;
  const auto* policy = directory_->find(candidate.name);
  return policy != nullptr && policy->allows_source(candidate.address) &&
         policy->transactions.any();
}

// --- SE ------------------------------------------------------------------------------------------

MiddleboxSession::Admission AdmissionControl::admit(Candidate& candidate, bool challenged) const {
  if (candidate.require == Require::kTls && !candidate.certified_names) {
    return {because(candidate, "TLS is required, and it does not use TLS", kSecurityInsufficient),
            false};
  }
  if (const auto* policy = recognize(candidate)) {
    return {refuse_agent(candidate, candidate.name, *policy), false};
  }
  const bool must_prove = candidate.require == Require::kSa;
  const auto* anonymous = must_prove ? nullptr : anonymous_policy(candidate.address);
  if (anonymous == nullptr) {
    if (directory_->has_secrets()) return {{}, true};
    if (!must_prove) return {because(candidate, unknown(candidate), kNoAuthorization), false};
    return {because(candidate, "authentication is required, and no [[agent]] has a secret",
                    kSecurityInsufficient),
            false};
  }
  // It may stay without a name. One that asks us for ours may want to give its own.
  if (challenged && directory_->has_secrets()) return {{}, true};
  return {refuse_session(candidate, policy::anonymous_name(candidate.peer), *anonymous), false};
}

std::vector<std::byte> AdmissionControl::answer_challenge(
    std::span<const std::byte> challenge) const {
  if (secret_.empty()) return {};
  return make_middlebox_token(secret_, challenge);
}

// --- SA ------------------------------------------------------------------------------------------

AuthResult AdmissionControl::verify(Candidate& candidate,
                                    const std::optional<ChallengeOctets>& challenge,
                                    const std::optional<Token>& token, Instant now) {
  if (!challenge && !candidate.name.empty()) return verify_certificate(candidate, now);
  if (!challenge || !token) return verify_without_token(candidate, now);
  const auto name = name_in_agent_token(token->octets);
  if (!std::exchange(candidate.has_waited, true)) {
    const auto at = backoff_.not_before(candidate.address, name.value_or(""), now);
    if (at > now) return {Kind::kLater, {}, at};
  }
  // A name that no agent has is checked like any other, so that the time it takes tells nothing.
  const auto* policy = name ? directory_->find(*name) : nullptr;
  const bool known = policy != nullptr && !policy->secret.empty();
  const bool right = check_agent_token(token->octets, known ? policy->secret : "-", *challenge);
  if (!known || !right) {
    candidate.refused_because = !name    ? "the token is malformed"
                                : !known ? "no [[agent]] of this name has a secret"
                                         : "its secret is not that of the configuration";
    return refuse_token(candidate, name.value_or(""), now);
  }
  backoff_.succeeded(candidate.address, *name);
  if (const auto refusal = refuse_agent(candidate, *name, *policy)) return result_of(refusal, now);
  candidate.name = *name;
  return {};
}

// Others may have taken its place since its SE, or the configuration has changed.
AuthResult AdmissionControl::verify_certificate(Candidate& candidate, Instant now) const {
  const auto* policy = directory_->find_named(candidate.name);
  if (policy == nullptr) {
    return result_of(
        because(candidate, "the configuration no longer has this agent", kNoAuthorization), now);
  }
  return result_of(refuse_agent(candidate, candidate.name, *policy), now);
}

AuthResult AdmissionControl::verify_without_token(Candidate& candidate, Instant now) {
  const bool must_prove = candidate.require == Require::kSa;
  const auto* anonymous = must_prove ? nullptr : anonymous_policy(candidate.address);
  if (anonymous == nullptr) {
    candidate.refused_because = "it has given no name and no token";
    return refuse_token(candidate, {}, now);
  }
  return result_of(refuse_session(candidate, policy::anonymous_name(candidate.peer), *anonymous),
                   now);
}

AuthResult AdmissionControl::refuse_token(const Candidate& candidate,
                                          std::optional<std::string_view> name, Instant now) {
  host_.on_authentication_failed(candidate, name.value_or(""));
  const auto at = name ? backoff_.failed(candidate.address, *name, now) : now;
  return {Kind::kRefused, kAuthenticationFailed, at};
}

}  // namespace simco::middlebox
