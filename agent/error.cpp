#include "agent/error.hpp"

#include <fmt/format.h>

#include <string>

namespace simco::agent {
namespace {

class AgentCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "simco.agent"; }
  std::string message(int value) const override {
    return std::string(to_string(static_cast<AgentError>(value)));
  }
};

class ReplyCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "simco.reply"; }
  std::string message(int value) const override {
    const auto code = negative_reply_code(static_cast<std::uint8_t>(value));
    return fmt::format("{} (0x03{:02X})", code ? to_string(*code) : "undefined reply", value);
  }
};

}  // namespace

std::string_view to_string(AgentError error) {
  switch (error) {
    case AgentError::kNotOpen: return "no session is open";
    case AgentError::kAlreadyOpen: return "a session is already open";
    case AgentError::kTimeout: return "no reply from the middlebox in time";
    case AgentError::kConnectionLost: return "lost the connection to the middlebox";
    case AgentError::kTerminated: return "the session ended before the reply arrived";
    case AgentError::kMiddleboxTerminated: return "the middlebox ended the session";
    case AgentError::kBadlyFormedMessage: return "the middlebox rejected a message as badly formed";
    case AgentError::kAuthenticationNeeded: return "the middlebox requires authentication";
    case AgentError::kMiddleboxNotAuthentic: return "the middlebox failed to authenticate itself";
    case AgentError::kProtocolError: return "the middlebox violated the protocol";
    case AgentError::kOverloaded:
      return "too many requests wait for the middlebox: this request was not sent";
    case AgentError::kTidsExhausted: return "the session has no transaction identifiers left";
  }
  return "undefined agent error";
}

const boost::system::error_category& agent_category() {
  static const AgentCategory category;
  return category;
}

const boost::system::error_category& reply_category() {
  static const ReplyCategory category;
  return category;
}

boost::system::error_code make_error_code(AgentError error) {
  return {static_cast<int>(error), agent_category()};
}

boost::system::error_code make_reply_error(NegativeReplyCode code) {
  return {static_cast<int>(code), reply_category()};
}

std::optional<NegativeReplyCode> negative_reply(const boost::system::error_code& error) {
  if (error.category() != reply_category()) return std::nullopt;
  return negative_reply_code(static_cast<std::uint8_t>(error.value()));
}

boost::system::error_code error_of(SessionEnd end, std::optional<NegativeReplyCode> code) {
  switch (end) {
    case SessionEnd::kTerminated: return AgentError::kTerminated;
    case SessionEnd::kRefused: return make_reply_error(*code);
    case SessionEnd::kMiddleboxTerminated: return AgentError::kMiddleboxTerminated;
    case SessionEnd::kBadlyFormedMessage: return AgentError::kBadlyFormedMessage;
    case SessionEnd::kAuthenticationNeeded: return AgentError::kAuthenticationNeeded;
    case SessionEnd::kMiddleboxNotAuthentic: return AgentError::kMiddleboxNotAuthentic;
    case SessionEnd::kProtocolError: return AgentError::kProtocolError;
  }
  return AgentError::kProtocolError;
}

boost::system::error_code error_of(TransactionEnd end, const Body* reply,
                                   const boost::system::error_code& session_end) {
  switch (end) {
    case TransactionEnd::kReplied: break;
    case TransactionEnd::kWrongReply: return AgentError::kProtocolError;
    case TransactionEnd::kTimedOut: return AgentError::kTimeout;
    case TransactionEnd::kSessionEnded: return session_end;
  }
  const auto* refused = std::get_if<NegativeReply>(reply);
  return refused == nullptr ? boost::system::error_code{} : make_reply_error(refused->code);
}

}  // namespace simco::agent
