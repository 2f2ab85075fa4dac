// Between the values of simco/agent.h and those of the C++ library.
#pragma once

#include <boost/system/error_code.hpp>
#include <optional>
#include <string>

#include "agent/c/simco/agent.h"
#include "simco/session/agent_session.hpp"
#include "simco/session/agent_transactions.hpp"
#include "simco/session/rule_keeper.hpp"
#include "simco/wire/messages.hpp"

namespace simco::agent::c {

/// The C value of an error: SIMCO_OK, a simco_error, or a negative reply such as 0x0343.
int error_value(const boost::system::error_code& error);

simco_tuple to_c(const AddressTuple& tuple);
simco_capabilities to_c(const Capabilities& capabilities);
simco_event to_c(const RuleEvent& event);
simco_loss to_c(RuleLoss loss);
/// Nothing if a field has a value that the RFC does not define.
std::optional<AddressTuple> from_c(const simco_tuple& tuple);

/// A request in the RFC's terms, and the rule that it is about.
struct Request {
  Body body;
  std::optional<PolicyRuleId> rule;
};

/// Nothing if a field has a value that the RFC does not define.
std::optional<Request> from_c(const simco_request& request);

/// Nothing if a name comes without a secret.
std::optional<AgentSession::Authentication> authentication_of(const simco_agent_config& config);

/// A positive reply as C sees it. Owns the objects that simco_reply points to; must not be moved.
class Reply {
 public:
  explicit Reply(const Body& body);
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
  const simco_reply* get() const { return &reply_; }

 private:
  /// With the attributes that the reply has.
  template <class Positive>
  void fill(const Positive& reply);
  const simco_tuple* keep(const AddressTuple& tuple);
  const simco_tuple* keep(const std::optional<AddressTuple>& tuple) {
    return tuple ? keep(*tuple) : nullptr;
  }

  simco_reply reply_{};
  simco_tuple tuples_[4]{};  ///< the most that a reply has
  std::size_t kept_ = 0;
  std::string owner_;
  std::vector<std::uint32_t> pids_;
};

}  // namespace simco::agent::c
