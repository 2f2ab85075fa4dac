// The errors of an agent as error codes: ours (AgentError) and the middlebox's (the negative
// replies of RFC 4540 section 4.2.3).
#pragma once

#include <boost/system/error_code.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "simco/session/agent_session.hpp"
#include "simco/session/agent_transactions.hpp"
#include "simco/wire/reply_code.hpp"

namespace simco::agent {

/// Why a transaction got no reply, or a session ended.
enum class AgentError : std::uint8_t {
  kNotOpen = 1,            ///< no session is open: call open() first
  kAlreadyOpen,            ///< open() was called while a session is open or being opened
  kTimeout,                ///< no reply in time; the middlebox may have carried out the request
  kConnectionLost,         ///< the connection was lost; call open() again, rules outlive sessions
  kTerminated,             ///< close() ended the session, or open(), before the reply arrived
  kMiddleboxTerminated,    ///< the middlebox ended the session (AST)
  kBadlyFormedMessage,     ///< the middlebox rejected a message as badly formed (BFM)
  kAuthenticationNeeded,   ///< the middlebox requires authentication and no secret is configured
  kMiddleboxNotAuthentic,  ///< the middlebox failed to authenticate itself
  kProtocolError,          ///< the middlebox violated the protocol
  kOverloaded,     ///< not sent: kAgentPendingMax calls are open, or the timeout passed before its
                   ///< turn
  kTidsExhausted,  ///< the session has used up its transaction identifiers: open a new session
};

/// Returns a sentence for `error`.
std::string_view to_string(AgentError error);

/// Category of AgentError; its name is "simco.agent".
const boost::system::error_category& agent_category();
/// Category of NegativeReplyCode; its name is "simco.reply". The value is the sub-type, so 0x43
/// stands for reply 0x0343, and the message is the RFC's wording.
const boost::system::error_category& reply_category();

boost::system::error_code make_error_code(AgentError error);
boost::system::error_code make_reply_error(NegativeReplyCode code);

/// Returns the negative reply of `error`, or nullopt for other errors.
std::optional<NegativeReplyCode> negative_reply(const boost::system::error_code& error);

/// Returns the error with which the end of a session completes its transactions.
boost::system::error_code error_of(SessionEnd end, std::optional<NegativeReplyCode> code);

/// Returns the error for the end of a transaction: none for a positive reply. `session_end`: why
/// the session ended, if it did.
boost::system::error_code error_of(TransactionEnd end, const Body* reply,
                                   const boost::system::error_code& session_end);

}  // namespace simco::agent

namespace boost::system {
template <>
struct is_error_code_enum<simco::agent::AgentError> : std::true_type {};
}  // namespace boost::system
