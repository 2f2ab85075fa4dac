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

bool Agent::convert_reserved(const Outcome& outcome, ReservedRule& result) {
  const auto* prr = std::get_if<PrrReply>(outcome.body);
  if (prr == nullptr) return false;
  result = {prr->pid, prr->group, prr->lifetime, prr->outside, prr->inside};
  return true;
}

bool Agent::convert_disabled(const Outcome& outcome, DisableRule& result) {
  const auto* pdr = std::get_if<PdrReply>(outcome.body);
  if (pdr == nullptr) return false;
  result = {pdr->pid, pdr->lifetime};
  return true;
}

bool Agent::convert_enabled(const Outcome& outcome, EnabledRule& result) {
  const auto* per = std::get_if<PerReply>(outcome.body);
  if (per == nullptr) return false;
  result = {per->pid, per->group, per->lifetime, per->outside, per->inside};
  return true;
}

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
  if (const auto* pes = std::get_if<PesReply>(outcome.body)) {
    result = {RuleStatus::Kind::kEnabled,
              pes->pid,
              pes->group,
              pes->parameters,
              pes->internal,
              pes->inside,
              pes->outside,
              pes->external,
              pes->lifetime,
              std::string(pes->owner.text())};
    return true;
  }
  if (const auto* prs = std::get_if<PrsReply>(outcome.body)) {
    result = {RuleStatus::Kind::kReserved,
              prs->pid,
              prs->group,
              std::nullopt,
              std::nullopt,
              prs->inside,
              prs->outside,
              std::nullopt,
              prs->lifetime,
              std::string(prs->owner.text())};
    return true;
  }
  const auto* pds = std::get_if<PdsReply>(outcome.body);
  if (pds == nullptr) return false;
  result = {RuleStatus::Kind::kDisabled,
            pds->pid,
            std::nullopt,
            std::nullopt,
            pds->internal,
            std::nullopt,
            std::nullopt,
            pds->external,
            pds->lifetime,
            std::string(pds->owner.text())};
  return true;
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
