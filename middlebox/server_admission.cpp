// Who may have a session (RFC 4540 sections 7.2 and 7.3): what a listener demands, what an agent
// has proven, what the configuration allows it.
#include <spdlog/spdlog.h>

#include <utility>

#include "middlebox/server.hpp"

namespace simco::middlebox {

const policy::AgentPolicy* Server::anonymous_policy(const IpAddress& address) const {
  const auto* policy = directory_->find_anonymous(address);
  return policy != nullptr && policy->transactions.any() ? policy : nullptr;
}

std::optional<NegativeReplyCode> Server::refuse_session(std::string_view name,
                                                        const policy::AgentPolicy& policy) const {
  const auto agent = engine_.find(name);
  const auto sessions = agent ? sessions_.find(*agent) : sessions_.end();
  const std::size_t open = sessions == sessions_.end() ? 0 : sessions->second.size();
  if (has_room() && open < policy.sessions_max) return std::nullopt;
  return NegativeReplyCode::kLackOfResources;
}

const policy::AgentPolicy* Server::recognize(Connection& connection) const {
  if (!connection.certified_names()) return nullptr;
  for (const auto& name : *connection.certified_names()) {
    if (const auto* policy = directory_->find_named(name)) {
      connection.authenticated_name = name;
      return policy;
    }
  }
  return nullptr;
}

std::optional<NegativeReplyCode> Server::refuse_agent(const Connection& connection,
                                                      std::string_view name,
                                                      const policy::AgentPolicy& policy) const {
  if (!policy.allows_source(connection.address()) || policy.transactions.none()) {
    return NegativeReplyCode::kNoAuthorization;
  }
  return refuse_session(name, policy);
}

MiddleboxSession::Welcome Server::welcome(Connection& connection, bool challenged) {
  if (connection.require == Require::kTls && !connection.certified_names()) {
    return {NegativeReplyCode::kSecurityInsufficient, false};
  }
  if (const auto* policy = recognize(connection)) {
    return {refuse_agent(connection, connection.authenticated_name, *policy), false};
  }
  const bool must_prove = connection.require == Require::kSa;
  const auto* anonymous = must_prove ? nullptr : anonymous_policy(connection.address());
  if (anonymous == nullptr) {
    if (directory_->has_secrets()) return {{}, true};
    return {
        must_prove ? NegativeReplyCode::kSecurityInsufficient : NegativeReplyCode::kNoAuthorization,
        false};
  }
  // It may stay without a name. One that asks us for ours may want to give its own.
  if (challenged && directory_->has_secrets()) return {{}, true};
  return {refuse_session(policy::anonymous_name(connection.peer()), *anonymous), false};
}

std::vector<std::byte> Server::prove(std::span<const std::byte> challenge) {
  if (options_.secret.empty()) return {};
  return make_middlebox_token(options_.secret, challenge);
}

MiddleboxSession::Judgement Server::judge(Connection& connection,
                                          const std::optional<ChallengeOctets>& challenge,
                                          const std::optional<Token>& token) {
  using Kind = MiddleboxSession::Judgement::Kind;
  const auto& address = connection.address();
  const auto& known_name = connection.authenticated_name;
  if (!challenge && !known_name.empty()) {
    // By its certificate. Others may have taken its place since its SE, or the configuration
    // changed.
    const auto* policy = directory_->find_named(known_name);
    const auto refusal = policy != nullptr ? refuse_agent(connection, known_name, *policy)
                                           : NegativeReplyCode::kNoAuthorization;
    return refusal ? MiddleboxSession::Judgement{Kind::kRefuse, *refusal, now()}
                   : MiddleboxSession::Judgement{};
  }
  if (!challenge || !token) {
    if (connection.require == Require::kSa) return refuse_token(connection, {});
    const auto* anonymous = anonymous_policy(address);
    if (anonymous == nullptr) return refuse_token(connection, {});
    const auto refusal = refuse_session(policy::anonymous_name(connection.peer()), *anonymous);
    return refusal ? MiddleboxSession::Judgement{Kind::kRefuse, *refusal, now()}
                   : MiddleboxSession::Judgement{};
  }
  const auto name = name_in_agent_token(token->octets);
  if (!std::exchange(connection.proof_has_waited, true)) {
    const auto at = throttle_.judge_at(address, name.value_or(""), now());
    if (at > now()) return {Kind::kLater, {}, at};
  }
  // A name that nobody has is checked like any other, so that the time it takes tells nothing.
  const auto* policy = name ? directory_->find(*name) : nullptr;
  const bool known = policy != nullptr && !policy->secret.empty();
  const bool right = check_agent_token(token->octets, known ? policy->secret : "-", *challenge);
  if (!known || !right) return refuse_token(connection, name.value_or(""));
  throttle_.trust(address, *name);
  if (const auto refusal = refuse_agent(connection, *name, *policy)) {
    return {Kind::kRefuse, *refusal, now()};
  }
  connection.authenticated_name = *name;
  return {};
}

MiddleboxSession::Judgement Server::refuse_token(const Connection& connection,
                                                 std::optional<std::string_view> name) {
  warn_about(connection.peer(), "authentication failed");
  if (metrics_ != nullptr) metrics_->authentication_failed();
  const auto at = name ? throttle_.punish(connection.address(), *name, now()) : now();
  return {MiddleboxSession::Judgement::Kind::kRefuse, NegativeReplyCode::kAuthenticationFailed, at};
}

bool Server::still_allowed(const Connection& connection) const {
  if (connection.authenticated_name.empty()) return anonymous_policy(connection.address());
  const auto* policy = directory_->find(connection.authenticated_name);
  return policy != nullptr && policy->allows_source(connection.address()) &&
         policy->transactions.any();
}

void Server::apply(policy::AgentDirectory directory, const std::string& secret) {
  auto fresh = std::make_unique<policy::AgentDirectory>(std::move(directory));
  engine_.apply(*fresh);
  directory_ = std::move(fresh);
  options_.secret = secret;
  for (const auto& [connection, owned] : connections_) {
    if (connection->session_agent() && !still_allowed(*connection)) {
      spdlog::info("{}: session ended, {} is no longer allowed", connection->peer(),
                   engine_.name(*connection->session_agent()));
      connection->terminate();
    }
  }
  end_turn();
}

}  // namespace simco::middlebox
