// The typed interface to a Driver: starts its operations on the agent's executor, and converts the
// replies of the middlebox into the result types of each transaction.
#include "agent/agent.hpp"

#include <boost/asio/dispatch.hpp>

#include "agent/driver.hpp"

namespace simco::agent {

Agent::Agent(boost::asio::any_io_executor executor, const Options& options)
    : executor_(std::move(executor)), driver_(std::make_shared<Driver>(executor_, options)) {}

Agent::~Agent() {
  run(driver_, [](Driver* driver) { driver->shut_down(); });
}

void Agent::run(const std::shared_ptr<Driver>& driver,
                std::move_only_function<void(Driver*)> work) {
  boost::asio::dispatch(driver->executor(),
                        [driver, work = std::move(work)]() mutable { work(driver.get()); });
}

void Agent::start_open(Driver& driver, const net::HostPort& target, Completion done) {
  driver.open(target, std::move(done));
}
void Agent::start_close(Driver& driver, Completion done) { driver.close(std::move(done)); }
void Agent::start_transaction(Driver& driver, const Body& request, std::optional<PolicyRuleId> rule,
                              Completion done) {
  driver.transact(request, rule, std::move(done));
}
void Agent::start_next_event(Driver& driver, Completion done) {
  driver.next_event(std::move(done));
}

// --- From replies to results -------------------------------------------------------------------

bool Agent::convert_capabilities(const Outcome& outcome, Capabilities& result) {
  result = *outcome.capabilities;
  return true;
}

bool Agent::convert_nothing(const Outcome&) { return true; }

bool Agent::convert_lifetime(const Outcome& outcome, Lifetime& result) {
  if (std::holds_alternative<PrdReply>(*outcome.body)) {
    result = Lifetime{0};
    return true;
  }
  const auto* plc = std::get_if<PlcReply>(outcome.body);
  if (plc == nullptr) return false;
  result = plc->lifetime;
  return true;
}

bool Agent::convert_removed(const Outcome& outcome) {
  return std::holds_alternative<PrdReply>(*outcome.body);
}

bool Agent::convert_status(const Outcome& outcome, RuleStatus& result) {
  const auto fill = [&](RuleStatus::Kind kind, const auto* reply) {
    if (reply == nullptr) return false;
    result.kind = kind;
    result.pid = reply->pid;
    result.lifetime = reply->lifetime;
    result.owner = reply->owner.text();
    if constexpr (requires { reply->group; }) result.group = reply->group;
    if constexpr (requires { reply->parameters; }) result.parameters = reply->parameters;
    if constexpr (requires { reply->outside; }) {
      result.inside = reply->inside;
      result.outside = reply->outside;
    }
    if constexpr (requires { reply->internal; }) {
      result.internal = reply->internal;
      result.external = reply->external;
    }
    return true;
  };
  return fill(RuleStatus::Kind::kEnabled, std::get_if<PesReply>(outcome.body)) ||
         fill(RuleStatus::Kind::kReserved, std::get_if<PrsReply>(outcome.body)) ||
         fill(RuleStatus::Kind::kDisabled, std::get_if<PdsReply>(outcome.body));
}

bool Agent::convert_list(const Outcome& outcome, std::vector<PolicyRuleId>& result) {
  const auto* prl = std::get_if<PrlReply>(outcome.body);
  if (prl == nullptr) return false;
  result = prl->pids;
  return true;
}

bool Agent::convert_event(const Outcome& outcome, RuleEvent& result) {
  result = *outcome.event;
  return true;
}

}  // namespace simco::agent
