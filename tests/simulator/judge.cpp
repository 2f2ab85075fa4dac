#include "tests/simulator/judge.hpp"

#include "simco/wire/codec.hpp"
#include "tests/simulator/requests.hpp"
#include "tests/support/figures.hpp"

namespace simco::simulator {

using test::refusal;

namespace {

/// A rule may outlive its time by so much: a tick of the expiry and a batch of the backend and
/// store.
constexpr auto kExpirySlack = std::chrono::seconds(1);

}  // namespace

// --- Agents --------------------------------------------------------------------------------------

void Judge::connected(std::uint32_t number, const std::string& who, bool auditor, bool genuine) {
  Session session{.who = who, .auditor = auditor, .genuine = genuine};
  session.refusable = facts_.unknown.contains(who);
  audience_.add(number, std::move(session));
}

void Judge::asked(std::uint32_t number, TransactionId tid, const Body& request) {
  Session& session = audience_.at(number);
  session.in_flight.insert(tid.value);
  trace(number, "asks", tid, request);
  facts_.requests[tid.value] = {.who = session.who,
                                .session = number,
                                .asked_at = facts_.now(),
                                .body = request,
                                .may_be_unknown = session.refusable};
}

void Judge::trace(std::uint32_t number, const char* does, TransactionId tid,
                  const Body& body) const {
  if (!trace_) return;
  trace_(audience_.at(number).who + " #" + std::to_string(number) + " " + does + " " +
         std::to_string(tid.value) + ": " + describe(body));
}

void Judge::session_over(std::uint32_t number) {
  Session& session = audience_.at(number);
  if (std::exchange(session.over, true)) return;
  demand(!session.auditor, "the auditor's session has ended");
  session.open = false;
  session.unheard.clear();
  for (const auto tid : session.in_flight) facts_.orphans.insert(facts_.requests.extract(tid));
  session.in_flight.clear();
}

// --- Messages ------------------------------------------------------------------------------------

void Judge::judge(std::vector<Sent>& record) {
  crashes_.forget_doubts();
  if (record.empty()) return;
  record_ = &record;
  messages_.clear();
  replies_.begin_turn();
  for (const auto& sent : record) {
    const auto message = decode(sent.octets);
    demand(message.has_value(), "it has sent what is not a message");
    messages_.push_back(*message);
  }
  for (std::size_t i = 0; i < record.size(); ++i) judge_message(i);
  audience_.check();
  changes_.check_disabled_traffic();
  record.clear();
}

void Judge::judge_message(std::size_t at) {
  const auto number = (*record_)[at].session;
  const auto& [tid, body] = messages_[at];
  trace(number, "gets", tid, body);
  Session& to = audience_.at(number);
  if (to.over) return;  // it does not know yet that the path has broken
  if (const auto* are = std::get_if<AreNotification>(&body)) {
    demand(to.open, "an ARE to a session that is not open");
    if (to.auditor) return judge_event(at, are->pid.value, are->lifetime.seconds);
    audience_.heard(number, are->pid.value, are->lifetime.seconds);
  } else if (std::holds_alternative<AstNotification>(body) ||
             std::holds_alternative<StReply>(body)) {
    to.open = false;
    to.unheard.clear();
  } else if (!to.open && !facts_.requests.contains(tid.value)) {
    judge_opening(to, body);
  } else {
    judge_reply(number, tid, body);
  }
}

void Judge::judge_opening(Session& session, const Body& reply) {
  if (std::holds_alternative<SaReply>(reply)) return;  // its agent looks at it
  if (std::holds_alternative<SeReply>(reply)) {
    demand(session.genuine, "a session for " + session.who + " with a wrong secret");
    demand(!facts_.unknown.contains(session.who), "a session for an agent that is not configured");
    session.open = true;
    return;
  }
  demand(refusal(reply).has_value(), "to an SE or SA: " + text(reply));
  demand(!session.genuine || session.refusable, session.who + " got no session: " + text(reply));
  session.leaving = true;
}

void Judge::judge_reply(std::uint32_t number, TransactionId tid, const Body& reply) {
  const auto asked = facts_.requests.find(tid.value);
  demand(asked != facts_.requests.end() && asked->second.session == number,
         "a reply to nothing: " + text(reply));
  const Request request = asked->second;
  facts_.requests.erase(asked);
  audience_.at(number).in_flight.erase(tid.value);
  replies_.judge(request, tid, reply);
  if (refusal(reply)) {
    crashes_.refused(tid, request);
  } else if (request.disables != 0) {
    changes_.disabled(request.disables);
  }
}

void Judge::judge_event(std::size_t at, std::uint32_t pid, std::uint32_t lifetime) {
  ++events_;
  replies_.changed(pid, lifetime);
  if (lifetime == 0 && facts_.model.rules.contains(pid)) crashes_.ended(pid);
  const auto change = changes_.judge(pid, lifetime);
  const auto cause = change.created_by ? *change.created_by : session_replied_after(at, pid);
  audience_.expect(pid, lifetime, change.owner, cause);
}

std::uint32_t Judge::session_replied_after(std::size_t at, std::uint32_t pid) const {
  for (std::size_t i = at + 1; i < messages_.size(); ++i) {
    const auto found = facts_.requests.find(messages_[i].tid.value);
    if (found == facts_.requests.end() || refusal(messages_[i].body) ||
        std::holds_alternative<AreNotification>(messages_[i].body)) {
      continue;
    }
    const auto& request = found->second.body;
    const bool reads = std::holds_alternative<PrsRequest>(request);
    if (!reads && pid_asked_about(request) == pid) return found->second.session;
  }
  return 0;
}

// --- The middlebox -------------------------------------------------------------------------------

void Judge::reconfigured(const std::set<std::string>& unknown) {
  facts_.unknown = unknown;
  for (auto& [number, session] : audience_.all()) {
    if (!unknown.contains(session.who)) continue;
    session.refusable = session.leaving = true;
    for (const auto tid : session.in_flight) facts_.requests.at(tid).may_be_unknown = true;
  }
}

void Judge::gone() {
  for (auto& [number, session] : audience_.all()) {
    session.auditor = false;
    session_over(number);
  }
  audience_.all().clear();
  changes_.forget();
  facts_.doomed.clear();
}

void Judge::started(const SimBackend& backend, bool stood_by) {
  facts_.set_backend(backend);
  crashes_.recovered(stood_by);
}

// --- The end -------------------------------------------------------------------------------------

void Judge::quiet(std::size_t rules_of_middlebox) const {
  for (const auto& [tid, request] : facts_.requests) {
    demand(!audience_.at(request.session).open,
           request.who + "'s " + text(request.body) + " was never answered");
  }
  for (const auto& [number, session] : audience_.all()) {
    const bool ended = session.leaving || session.closed || session.over || session.cut;
    demand(session.open || ended || !session.genuine,
           session.who + " has waited for a session in vain");
  }
  demand(rules_of_middlebox == facts_.model.rules.size(),
         "the middlebox has " + std::to_string(rules_of_middlebox) + " rules, the model " +
             std::to_string(facts_.model.rules.size()));
  check_rules();
  if (facts_.store != nullptr) check_stored();
}

void Judge::check_rules() const {
  const auto& model = facts_.model;
  const auto& table = facts_.backend().table();
  demand(table.size() == model.rules.size(), "rules are enforced that are not there");
  for (const auto& [pid, rule] : model.rules) {
    const bool late = rule.expires_at + kExpirySlack <= facts_.now();
    const bool disabled =
        rule.kind == rule::RuleKind::kEnable && model.is_disabled(rule.internal, rule.external);
    demand(!late && !disabled, text(pid) + " should have ended");
    const auto enforced = table.find(pid);
    demand(enforced != table.end(), text(pid) + " is not enforced");
    demand(enforced->second.rule.kind == rule.kind &&
               enforced->second.rule.expires_at == rule.expires_at &&
               enforced->second.owner == rule.owner,
           text(pid) + " is enforced as another");
  }
}

void Judge::check_stored() const {
  const auto& rules = facts_.model.rules;
  const auto stored = facts_.store->pids();
  for (const auto& [pid, rule] : rules) {
    demand(stored.contains(pid) || facts_.is_due(pid), text(pid) + " is not in the store");
  }
  for (const auto pid : stored) {
    demand(rules.contains(pid), text(pid) + " is in the store and is not there");
  }
}

}  // namespace simco::simulator
