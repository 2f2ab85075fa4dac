#include "agent/simcoctl/hint.hpp"

#include <boost/asio/error.hpp>

#include "simco/net/endpoint.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::ctl {
namespace {

using agent::AgentError;
using enum NegativeReplyCode;

std::string hint_about(NegativeReplyCode code, const Settings& settings) {
  switch (code) {
    case kSecurityInsufficient:
      return settings.agent.transport.tls
                 ? "give --name and --secret-file"
                 : "give --tls-ca, --tls-certificate and --tls-key, or --name and --secret-file";
    case kAuthenticationFailed:
      return settings.agent.credentials
                 ? "are --name and --secret-file right? The middlebox's log says more"
                 : "give --name and --secret-file";
    case kNoAuthorization:
      return "it has no [[agent]] for this name, certificate or address; its log says more";
    case kLackOfResources:
    case kNoResources:
    case kAgentNotAuthorized:
    case kConfigurationFailed:
    case kConflict:
    case kRuleAccessDenied: return "the middlebox's log says why";
    case kReplyTooBig:
      return "a PRL reply has room for 8191 rules: ask for a rule by its number (simcoctl status)";
    default: return {};
  }
}

}  // namespace

std::string connecting(const Settings& settings) {
  const auto& transport = net::type_of(settings.agent.transport.transport);
  const auto where = net::endpoint_text(settings.target.host, settings.target.port);
  const bool usual = &transport == &net::transport_types().front();
  return "connect to " + where + (usual ? "" : std::string(" over ") + transport.name);
}

std::string hint_about_connecting(const boost::system::error_code& error,
                                  const Settings& settings) {
  const bool tls = settings.agent.transport.tls != nullptr;
  const bool late = error == boost::asio::error::timed_out || error == AgentError::kTimeout;
  const bool no_tls = late || error.message().contains("wrong version number");
  if (no_tls && tls)
    return "it answers no TLS handshake; does the middlebox have --tls-certificate?";
  return hint(error, settings);
}

std::string hint(const boost::system::error_code& error, const Settings& settings) {
  if (const auto code = agent::negative_reply(error)) return hint_about(*code, settings);
  if (error == AgentError::kAuthenticationNeeded) return "give --name and --secret-file";
  if (error == boost::asio::error::connection_refused) {
    return "is simco-middlebox running there, with this transport? --connect HOST:PORT";
  }
  if (error.message().contains("certificate required")) {
    return "the middlebox wants a certificate: give --tls-certificate and --tls-key";
  }
  return {};
}

}  // namespace simco::ctl
