#include "tests/simulator/judge.hpp"

#include <algorithm>

#include "simco/wire/codec.hpp"
#include "tests/simulator/requests.hpp"
#include "tests/support/figures.hpp"

namespace simco::simulator {

using test::Given;
using test::Model;
using test::ModelRule;
using test::refusal;
using enum NegativeReplyCode;

namespace {

/// A rule may outlive its time by so much: a tick of the expiry and a batch of the backend and
/// store.
constexpr auto kExpirySlack = std::chrono::seconds(1);

void demand(bool holds, const std::string& otherwise) {
  if (!holds) throw Fault(otherwise);
}

}  // namespace

// --- Agents --------------------------------------------------------------------------------------

void Judge::connected(std::uint32_t number, const std::string& who, bool auditor) {
  sessions_[number] = {who, auditor};
}

void Judge::asked(std::uint32_t number, TransactionId tid, const Body& request) {
  session(number).in_flight.insert(tid.value);
  trace(number, "asks", tid, request);
  requests_[tid.value] = {session(number).who, number, time_.now(), request, 0};
}

void Judge::trace(std::uint32_t number, const char* does, TransactionId tid,
                  const Body& body) const {
  if (!trace_) return;
  trace_(sessions_.at(number).who + " #" + std::to_string(number) + " " + does + " " +
         std::to_string(tid.value) + ": " + describe(body));
}

void Judge::session_over(std::uint32_t number) {
  Session& over = session(number);
  if (std::exchange(over.over, true)) return;
  demand(!over.auditor, "the auditor's session has ended");
  over.open = false;
  over.unheard.clear();
  for (const auto tid : over.in_flight) orphans_.insert(requests_.extract(tid));
  over.in_flight.clear();
}

bool Judge::is_open(std::uint32_t number) const { return sessions_.at(number).open; }

std::size_t Judge::in_flight(std::uint32_t number) const {
  return sessions_.at(number).in_flight.size();
}

// --- Messages ------------------------------------------------------------------------------------

void Judge::judge(std::vector<Sent>& record) {
  forget_doubts();
  if (record.empty()) return;
  record_ = &record;
  messages_.clear();
  events_.clear();
  for (const auto& sent : record) {
    const auto message = decode(sent.octets);
    demand(message.has_value(), "it has sent what is not a message");
    messages_.push_back(*message);
  }
  for (std::size_t i = 0; i < record.size(); ++i) judge_message(i);
  check_heard();
  check_disabled_traffic();
  record.clear();
}

void Judge::judge_message(std::size_t at) {
  trace((*record_)[at].session, "gets", messages_[at].tid, messages_[at].body);
  const auto number = (*record_)[at].session;
  const auto& [tid, body] = messages_[at];
  Session& to = session(number);
  if (const auto* are = std::get_if<AreNotification>(&body)) {
    demand(to.open, "an ARE to a session that is not open");
    if (to.auditor) return judge_event(at, are->pid.value, are->lifetime.seconds);
    --to.unheard[{are->pid.value, are->lifetime.seconds}];
  } else if (std::holds_alternative<AstNotification>(body) ||
             std::holds_alternative<StReply>(body)) {
    to.open = false;
    to.unheard.clear();
  } else if (std::holds_alternative<SeReply>(body)) {
    demand(!to.open, "a second SE reply");
    to.open = true;
  } else {
    judge_reply(number, tid, body);
  }
}

// --- Replies -------------------------------------------------------------------------------------

void Judge::judge_reply(std::uint32_t number, TransactionId tid, const Body& reply) {
  const auto asked = requests_.find(tid.value);
  demand(asked != requests_.end() && asked->second.session == number,
         "a reply to nothing: " + text(reply));
  const Request request = asked->second;
  requests_.erase(asked);
  session(number).in_flight.erase(tid.value);
  ++replies;
  if (refusal(reply)) {
    judge_refusal(request, tid, reply);
    if (store_ != nullptr && store_->failing()) {
      doubtful_requests_[tid.value] = {request, store_->begun()};
    }
  } else if (std::holds_alternative<PrsRequest>(request.body) ||
             std::holds_alternative<PrlRequest>(request.body)) {
    judge_read(request, reply);
  } else {
    ++grants;
    judge_grant(request, reply);
  }
}

// A rule that the kernel would not remove is there, and may be changed, until it is tried again.
Model::Verdict Judge::decide(const Request& request, Instant at) const {
  const auto pid = pid_asked_about(request.body);
  const auto rule = model_.rules.find(pid);
  const bool kept =
      rule != model_.rules.end() && rule->second.expires_at <= at && backend_.refused_removal(pid);
  if (!kept) return model_.decide(request.who, request.body, at);
  Model longer = model_;
  longer.rules.at(pid).expires_at = at + std::chrono::seconds(1);
  return longer.decide(request.who, request.body, at);
}

void Judge::judge_refusal(const Request& request, TransactionId tid, const Body& reply) const {
  const auto verdict = decide(request, time_.now());
  if (verdict.agrees_with(reply)) return;
  const auto code = *refusal(reply);
  const auto pid = pid_asked_about(request.body);
  if (code == kNoSuchRule && is_due(pid)) return;
  if (code == kConfigurationFailed || code == kNoResources) {
    if (pid == 0 ? backend_.refused_addition(tid) : backend_.refused_change(pid)) return;
    if (code == kNoResources && store_ != nullptr && store_->failed_since(request.asked_at)) return;
  }
  if (may_be_refused_for_others(request, code)) return;
  throw Fault(request.who + "'s " + text(request.body) + " got " + text(reply) + " instead of " +
              text(verdict));
}

// What has been planned and not settled is taken, and may yet come back.
bool Judge::may_be_refused_for_others(const Request& request, NegativeReplyCode code) const {
  const auto is_anothers = [&](const auto& entry) {
    return entry.second.session != request.session &&
           time_.now() - entry.second.asked_at < std::chrono::seconds(5);
  };
  const bool others =
      std::ranges::any_of(requests_, is_anothers) || std::ranges::any_of(orphans_, is_anothers);
  // A group whose first rule is being made is no secret to its owner's other sessions.
  const Body ungrouped = without_group(request.body);
  if (model_.decide(request.who, ungrouped, time_.now()).refusal == code) return others;
  const bool resource = code == kNoResources || code == kGroupAccessDenied ||
                        code == kAddressSpaceNotAvailable || Model::is_shortage(code);
  return resource && others;
}

void Judge::judge_read(const Request& request, const Body& reply) const {
  if (const auto* prs = std::get_if<PrsRequest>(&request.body)) {
    const auto pid = prs->pid.value;
    if (is_due(pid)) return;
    demand(model_.decide(request.who, request.body, time_.now()).granted(),
           "a status of " + text(pid) + " that should have been refused");
    demand(reply == model_.status_of(pid, time_.now()), "a wrong status of " + text(pid));
    return;
  }
  std::set<std::uint32_t> listed;
  for (const auto pid : std::get<PrlReply>(reply).pids) listed.insert(pid.value);
  const auto visible = model_.visible_to(request.who);
  demand(std::ranges::includes(visible, listed), "a list with rules that are not there");
  for (const auto pid : visible) {
    demand(listed.contains(pid) || is_due(pid), "a list without " + text(pid));
  }
}

void Judge::judge_grant(const Request& request, const Body& reply) {
  const Lifetime lifetime = granted_to(request.who, request.body);
  if (request.disables != 0) {
    const auto* pdr = std::get_if<PdrReply>(&reply);
    demand(pdr != nullptr && *pdr == PdrReply{{request.disables}, lifetime}, "a wrong PDR reply");
    if (model_.rules.contains(request.disables)) disabled_.insert(request.disables);
    return;
  }
  std::uint32_t pid = pid_asked_about(request.body);
  if (const auto* per = std::get_if<PerReply>(&reply)) pid = per->pid.value;
  if (const auto* prr = std::get_if<PrrReply>(&reply)) pid = prr->pid.value;
  const auto event = claim(pid, lifetime == Lifetime{0});
  demand(event.lifetime == lifetime.seconds, "another lifetime than was granted");
  demand(reply == model_.reply_to(request.body, pid, lifetime),
         "a wrong " + text(reply) + " about " + text(pid));
}

Judge::Event Judge::claim(std::uint32_t pid, bool ends) {
  const auto found = std::ranges::find_if(events_, [&](const Event& event) {
    return event.pid == pid && (event.lifetime == 0) == ends;
  });
  demand(found != events_.end(), "a reply about " + text(pid) + " without the change");
  const Event result = *found;
  events_.erase(found);
  return result;
}

// --- Events --------------------------------------------------------------------------------------

void Judge::judge_event(std::size_t at, std::uint32_t pid, std::uint32_t lifetime) {
  ++events;
  events_.push_back({pid, lifetime});
  const auto known = model_.rules.find(pid);
  if (known == model_.rules.end()) {
    demand(lifetime != 0, text(pid) + " has ended and was not there");
    const auto& request = judge_new_rule(pid, lifetime);
    return expect_heard(pid, lifetime, request.who, request.session);
  }
  const std::string owner = known->second.owner;
  if (lifetime == 0) {
    judge_end(pid);
  } else {
    judge_change(pid, lifetime);
  }
  expect_heard(pid, lifetime, owner, session_replied_after(at, pid));
}

std::uint32_t Judge::session_replied_after(std::size_t at, std::uint32_t pid) const {
  for (std::size_t i = at + 1; i < messages_.size(); ++i) {
    const auto found = requests_.find(messages_[i].tid.value);
    if (found == requests_.end() || refusal(messages_[i].body) ||
        std::holds_alternative<AreNotification>(messages_[i].body)) {
      continue;
    }
    const auto& request = found->second.body;
    const bool reads = std::holds_alternative<PrsRequest>(request);
    if (!reads && pid_asked_about(request) == pid) return found->second.session;
  }
  return 0;
}

template <class Matches>
Judge::Request* Judge::find_request(Matches matches) {
  for (auto* requests : {&requests_, &orphans_}) {
    for (auto& [tid, request] : *requests) {
      if (matches(tid, request)) return &request;
    }
  }
  return nullptr;
}

Judge::Request* Judge::creating_request(std::uint32_t pid) {
  const auto enforced = backend_.table().find(pid);
  if (enforced == backend_.table().end()) return nullptr;
  const auto creating = enforced->second.rule.creating_tid.value;
  return find_request([&](std::uint32_t tid, const Request&) { return tid == creating; });
}

Given Judge::given_of(std::uint32_t pid) const {
  const auto& rule = backend_.table().at(pid).rule;
  Given given{pid, rule.group.value, rule.expires_at, {}, rule.inside};
  if (rule.outside) given.outside = *rule.outside;
  if (model_.translates() || rule.kind == rule::RuleKind::kDisable) return given;
  given.outside = rule.internal;
  given.outside.location = Location::kOutside;
  if (rule.kind == rule::RuleKind::kEnable) {
    given.inside = rule.external;
    given.inside->location = Location::kInside;
  }
  return given;
}

void Judge::check_end(const Request& request, std::uint32_t lifetime, Instant expires_at) const {
  const auto granted = granted_to(request.who, request.body);
  demand(granted.seconds == lifetime, "another lifetime than was granted");
  const auto planned_at = expires_at - std::chrono::seconds(lifetime);
  demand(planned_at >= request.asked_at && planned_at <= time_.now(),
         "a rule that does not end when its lifetime does");
}

// It joined a group when it was planned; the last rule in it may have ended since.
Body Judge::without_group_that_was(const Request& request, const Given& given) const {
  const auto group = group_asked_for(request.body);
  if (!group || model_.has_group(group->value)) return request.body;
  const auto lifetime = granted_to(request.who, request.body);
  const auto gone = groups_gone_at_.find(group->value);
  const bool was_there =
      gone != groups_gone_at_.end() &&
      gone->second >= given.expires_at - std::chrono::seconds(lifetime.seconds) &&
      model_.groups.at(group->value) == request.who;
  return was_there ? without_group(request.body) : request.body;
}

const Judge::Request& Judge::judge_new_rule(std::uint32_t pid, std::uint32_t lifetime) {
  const auto enforced = backend_.table().find(pid);
  demand(enforced != backend_.table().end(), text(pid) + " is new and is not enforced");
  Request* const request = creating_request(pid);
  demand(request != nullptr && request->who == enforced->second.owner,
         text(pid) + " is new and nobody has asked for it");
  const Given given = given_of(pid);
  const auto verdict =
      model_.decide(request->who, without_group_that_was(*request, given), time_.now());
  demand(verdict.granted(), describe(request->body) + " was granted instead of " + text(verdict));
  check_end(*request, lifetime, given.expires_at);
  if (const auto fault = model_.fault_in(request->who, request->body, given)) {
    throw Fault(text(request->body) + " was granted, but " + *fault);
  }
  std::vector<test::Happened> happened;
  model_.carry_out(request->who, request->body, given, happened);
  if (std::holds_alternative<PdrRequest>(request->body)) {
    request->disables = pid;
    for (const auto& [other, rule] : model_.rules) {
      if (rule.kind == rule::RuleKind::kEnable && is_due(other)) doomed_.insert(other);
    }
  }
  return *request;
}

bool Judge::is_due(std::uint32_t pid) const {
  const auto found = model_.rules.find(pid);
  if (found == model_.rules.end()) return false;
  const ModelRule& rule = found->second;
  if (rule.expires_at <= time_.now() || doomed_.contains(pid)) return true;
  return rule.kind == rule::RuleKind::kEnable && model_.is_disabled(rule.internal, rule.external);
}

bool Judge::explains(const Request& request, std::uint32_t pid, std::uint32_t lifetime) const {
  if (pid_asked_about(request.body) != pid) return false;
  const auto granted = granted_to(request.who, request.body);
  if (granted.seconds != lifetime) return false;
  if (std::holds_alternative<PeaRequest>(request.body)) {
    return lifetime != 0 && model_.rules.at(pid).kind == rule::RuleKind::kReserve;
  }
  return std::holds_alternative<PlcRequest>(request.body) &&
         Model::changes(request.who, model_.rules.at(pid).owner);
}

void Judge::judge_end(std::uint32_t pid) {
  const auto asked_for = [&](std::uint32_t, const Request& request) {
    return explains(request, pid, 0);
  };
  demand(is_due(pid) || find_request(asked_for) != nullptr,
         text(pid) + " has ended before its time");
  demand(!backend_.table().contains(pid), text(pid) + " has ended and is still enforced");
  if (store_ != nullptr && store_->failing()) {
    doubtful_rules_[pid] = {model_.rules.at(pid), store_->begun()};
  }
  const auto group = model_.rules.at(pid).group;
  model_.rules.erase(pid);
  disabled_.erase(pid);
  doomed_.erase(pid);
  if (group != 0 && !model_.has_group(group)) groups_gone_at_[group] = time_.now();
}

void Judge::judge_change(std::uint32_t pid, std::uint32_t lifetime) {
  const auto enforced = backend_.table().find(pid);
  demand(enforced != backend_.table().end(), text(pid) + " has changed and is not enforced");
  const auto& rule = enforced->second.rule;
  const Instant planned_at = rule.expires_at - std::chrono::seconds(lifetime);
  const bool enables = model_.rules.at(pid).kind != rule.kind;
  Request* const request = find_request([&](std::uint32_t, const Request& candidate) {
    return explains(candidate, pid, lifetime) && candidate.asked_at <= planned_at &&
           std::holds_alternative<PeaRequest>(candidate.body) == enables &&
           (!enables || std::get<PeaRequest>(candidate.body).internal == rule.internal) &&
           (!enables || std::get<PeaRequest>(candidate.body).external == rule.external);
  });
  demand(request != nullptr, text(pid) + " has changed and nobody has asked for it");
  doomed_.erase(pid);
  check_end(*request, lifetime, rule.expires_at);
  const auto verdict = decide(*request, planned_at);
  demand(verdict.granted(), describe(request->body) + " was granted instead of " + text(verdict));
  const Given given = given_of(pid);
  if (const auto fault = model_.fault_in(request->who, request->body, given)) {
    throw Fault(text(request->body) + " was granted, but " + *fault);
  }
  std::vector<test::Happened> happened;
  model_.carry_out(request->who, request->body, given, happened);
}

void Judge::expect_heard(std::uint32_t pid, std::uint32_t lifetime, const std::string& owner,
                         std::uint32_t cause) {
  for (auto& [number, session] : sessions_) {
    const bool hears = session.open && !session.auditor && number != cause;
    if (hears && Model::sees(session.who, owner)) ++session.unheard[{pid, lifetime}];
  }
}

void Judge::check_heard() {
  for (auto& [number, session] : sessions_) {
    if (session.closed) session.unheard.clear();
    for (const auto& [event, count] : session.unheard) {
      demand(count <= 0 || session.leaving, session.who + " was not told of " + text(event.first));
      demand(count >= 0, session.who + " was told of " + text(event.first) + " without a reason");
    }
    session.unheard.clear();
  }
}

// What a disable rule hits is closed from the reply on; only what the kernel has refused to remove
// may be there still.
void Judge::check_disabled_traffic() const {
  for (const auto pid : disabled_) {
    const auto& disable = model_.rules.at(pid);
    for (const auto& [other, enforced] : backend_.table()) {
      const bool open = enforced.rule.kind == rule::RuleKind::kEnable &&
                        test::meets(enforced.rule.internal, disable.internal) &&
                        test::meets(enforced.rule.external, disable.external);
      demand(!open || backend_.refused_removal(other),
             text(other) + " is enforced against disable " + text(pid));
    }
  }
}

// --- Crashes -------------------------------------------------------------------------------------

void Judge::crashed() {
  for (auto& [number, session] : sessions_) {
    session.auditor = false;
    session_over(number);
  }
  sessions_.clear();
  disabled_.clear();
  doomed_.clear();
}

bool Judge::is_doubtful(std::uint64_t since) const { return store_->last_success() <= since; }

void Judge::forget_doubts() {
  if (store_ == nullptr) return;
  std::erase_if(doubtful_rules_,
                [&](const auto& entry) { return !is_doubtful(entry.second.second); });
  std::erase_if(doubtful_requests_,
                [&](const auto& entry) { return !is_doubtful(entry.second.second); });
}

void Judge::recovered() {
  if (store_ == nullptr) {
    demand(backend_.table().empty(), "rules without a store have survived");
    model_.rules.clear();
  }
  std::vector<std::uint32_t> gone;
  for (const auto& [pid, rule] : model_.rules) {
    if (!backend_.table().contains(pid)) gone.push_back(pid);
  }
  for (const auto& [pid, enforced] : backend_.table()) recover_rule(pid);
  for (const auto pid : gone) recover_end(pid);
  orphans_.clear();
  doubtful_rules_.clear();
  doubtful_requests_.clear();
}

// It may have got an end that has come since, from a request that was never answered, or refused
// for a store that had kept it all the same.
void Judge::recover_end(std::uint32_t pid) {
  const auto ended_it = [&](std::uint32_t, const Request& request) {
    const auto granted = granted_to(request.who, request.body);
    return explains(request, pid, granted.seconds) &&
           request.asked_at + std::chrono::seconds(granted.seconds) <= time_.now();
  };
  const bool doubtful = std::ranges::any_of(doubtful_requests_, [&](const auto& entry) {
    return ended_it(entry.first, entry.second.first);
  });
  demand(is_due(pid) || doubtful || find_request(ended_it) != nullptr,
         text(pid) + " was lost by a crash");
  model_.rules.erase(pid);
}

void Judge::recover_rule(std::uint32_t pid) {
  const auto& rule = backend_.table().at(pid).rule;
  const auto given = given_of(pid);
  std::vector<test::Happened> happened;
  if (!model_.rules.contains(pid)) {
    if (const auto doubt = doubtful_rules_.find(pid); doubt != doubtful_rules_.end()) {
      model_.rules[pid] = doubt->second.first;
      return;
    }
    const Request* request = creating_request(pid);
    const auto doubt = doubtful_requests_.find(rule.creating_tid.value);
    if (doubt != doubtful_requests_.end()) request = &doubt->second.first;
    demand(request != nullptr, text(pid) + " has come with a crash");
    model_.carry_out(request->who, request->body, given, happened);
    return;
  }
  ModelRule& known = model_.rules.at(pid);
  if (known.kind == rule.kind && known.expires_at == rule.expires_at) return;
  const auto left = [&](const Request& request) { return granted_to(request.who, request.body); };
  const bool enables = known.kind != rule.kind;
  const auto explains_it = [&](std::uint32_t, const Request& request) {
    if (pid_asked_about(request.body) != pid) return false;
    const auto planned_at = rule.expires_at - std::chrono::seconds(left(request).seconds);
    return planned_at >= request.asked_at && planned_at <= time_.now() &&
           std::holds_alternative<PeaRequest>(request.body) == enables;
  };
  const Request* request = find_request(explains_it);
  for (auto& [tid, doubt] : doubtful_requests_) {
    if (explains_it(tid, doubt.first)) request = &doubt.first;
  }
  demand(request != nullptr, text(pid) + " was changed by a crash");
  model_.carry_out(request->who, request->body, given, happened);
}

// --- The end -------------------------------------------------------------------------------------

void Judge::quiet(std::size_t rules_of_middlebox) const {
  for (const auto& [tid, request] : requests_) {
    demand(!sessions_.at(request.session).open,
           request.who + "'s " + text(request.body) + " was never answered");
  }
  demand(rules_of_middlebox == model_.rules.size(),
         "the middlebox has " + std::to_string(rules_of_middlebox) + " rules, the model " +
             std::to_string(model_.rules.size()));
  demand(backend_.table().size() == model_.rules.size(), "rules are enforced that are not there");
  for (const auto& [pid, rule] : model_.rules) {
    const bool late = rule.expires_at + kExpirySlack <= time_.now();
    const bool disabled =
        rule.kind == rule::RuleKind::kEnable && model_.is_disabled(rule.internal, rule.external);
    demand(!late && !disabled, text(pid) + " should have ended");
    const auto enforced = backend_.table().find(pid);
    demand(enforced != backend_.table().end(), text(pid) + " is not enforced");
    demand(enforced->second.rule.kind == rule.kind &&
               enforced->second.rule.expires_at == rule.expires_at &&
               enforced->second.owner == rule.owner,
           text(pid) + " is enforced as another");
  }
  if (store_ == nullptr) return;
  std::set<std::uint32_t> kept;
  for (const auto& entry : store_->contents().entries) kept.insert(entry.pid.value);
  for (const auto& [pid, rule] : model_.rules) {
    demand(kept.contains(pid) || is_due(pid), text(pid) + " is not in the store");
  }
  for (const auto pid : kept) {
    demand(model_.rules.contains(pid), text(pid) + " is in the store and is not there");
  }
}

void Judge::stopped() const {
  for (const auto& [number, session] : sessions_) {
    demand(!session.open, session.who + " was not told of the stop");
  }
}

}  // namespace simco::simulator
