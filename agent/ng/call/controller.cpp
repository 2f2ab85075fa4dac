// Requests and their order, the life of calls, their rules and counters, and deadlines.
#include "agent/ng/call/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/ng/call/limits.hpp"
#include "simco/wire/assert.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;
using Purpose = CounterQuestion::Purpose;

constexpr const char* kNothingToDelete = "Call-ID not found or tags didn't match";

json nothing_to_delete(const Request& request) {
  if (request.fatal) return error_reply(kNothingToDelete);
  return {{"result", "ok"}, {"warning", kNothingToDelete}};
}

bool is_ok(const json& reply) {
  const auto result = reply.find("result");
  return result != reply.end() && *result == "ok";
}

}  // namespace

CallController::CallController(CallHost& host, CallOptions options)
    : host_(host), calls_(host), rules_(host), counters_(host), upstream_(host) {
  set(std::move(options));
}

void CallController::set(CallOptions options) {
  options_ = std::move(options);
  rules_.set_lifetime(options_.lifetime);
  counters_.set(options_);
}

void CallController::restore(Call call, Instant now) {
  auto& state = calls_.restore(std::move(call));
  const auto& id = state.call.id;
  for (const auto& [rule, made] : state.call.rules) rules_.restore(id, rule, made, now);
  for (const auto& [ports, made] : state.call.reservations) rules_.restore(id, ports, made, now);
  calls_.schedule(state);
}

// --- Requests ------------------------------------------------------------------------------------

void CallController::on_request(std::uint64_t id, Request request, Moment now) {
  PendingRequest asked{id, std::move(request), now};
  if (answer_at_once(asked)) return;
  auto* state = call_for(asked);
  if (state == nullptr) return;
  if (asked.request.command == Command::kQuery) return query(*state, std::move(asked));
  auto& call = state->call;
  call.last_signal = now.wall;
  if (asked.request.command == Command::kAnswer) {
    // A re-offer with an answer is not refused, even if that answer fails here: a delete then ends
    // the call.
    const auto& answer = asked.request;
    auto* offer = call.offer_for(answer.from_tag, answer.to_tag, answer.via_branch);
    if (offer != nullptr && std::exchange(offer->withdrawable, false)) state->changed = true;
  }
  if (state->waiting.size() >= kWaitingMax) {
    return reply(asked, error_reply("Too many requests for this call"));
  }
  state->waiting.push_back(std::move(asked));
  run(*state);
  maintain_rules(now.instant);
}

/// Answers a request that concerns no call here, or leaves it to the media proxy.
bool CallController::answer_at_once(PendingRequest& asked) {
  const auto command = asked.request.command;
  if (options_.upstream) {
    const bool known = calls_.find(asked.request.call_id) != nullptr;
    const bool concerns_us = command == Command::kOffer || command == Command::kAnswer ||
                             (command == Command::kDelete && known);
    if (!concerns_us) upstream_.leave(asked);
    return !concerns_us;
  }
  if (command == Command::kPing) {
    reply(asked, {{"result", "pong"}});
  } else if (command == Command::kList) {
    const auto limit = asked.request.limit == 0 ? kListLimitDefault : asked.request.limit;
    reply(asked, {{"result", "ok"}, {"calls", calls_.ids(limit)}});
  } else if (command == Command::kStatistics) {  // those of rtpengine's figures that there are here
    const json current = {{"sessionsown", call_count()}, {"sessionstotal", call_count()}};
    const json total = {{"managedsessions", calls_.begun()}};
    reply(asked, {{"result", "ok"},
                  {"statistics", {{"currentstatistics", current}, {"totalstatistics", total}}}});
  } else {
    return false;
  }
  return true;
}

/// Returns the call, which an offer makes, or replies and returns null.
CallState* CallController::call_for(PendingRequest& asked) {
  const auto& request = asked.request;
  if (auto* known = calls_.find(request.call_id)) return known;
  if (request.command == Command::kDelete) {
    reply(asked, nothing_to_delete(request));
  } else if (request.command != Command::kOffer) {
    reply(asked, error_reply("Unknown call-id"));
  } else if (call_count() >= options_.calls_max) {
    reply(asked, error_reply("Parallel session limit reached"));
  } else {
    return &calls_.begin(request.call_id, asked.since, options_.duration_max);
  }
  return nullptr;
}

/// Starts waiting requests in order, and ends the call if nothing is left of it.
void CallController::run(CallState& state) {
  while (!state.operation && !state.waiting.empty()) {
    auto asked = std::move(state.waiting.front());
    state.waiting.pop_front();
    start(state, std::move(asked));
  }
  if (!state.operation) {
    release_rules(state);
    if (state.call.over()) return calls_.end(state);
  }
  calls_.tell_changed(state);
  calls_.schedule(state);
}

void CallController::start(CallState& state, PendingRequest asked) {
  switch (asked.request.command) {
    case Command::kOffer:
    case Command::kAnswer: return start_exchange(state, std::move(asked));
    case Command::kDelete: return start_delete(state, std::move(asked));
    case Command::kPing:
    case Command::kQuery:
    case Command::kList:
    case Command::kStatistics: break;  // on_request() answers them
  }
  SIMCO_ASSERT(false);
}

/// A delete waits for the totals that its reply tells, as an operation of the call.
void CallController::start_delete(CallState& state, PendingRequest asked) {
  if (!counters_.ask_for_delete(state.call, asked.since.instant)) return end(state, asked);
  state.operation = Operation{std::move(asked), {}, nullptr, 1, std::nullopt};
}

void CallController::end(CallState& state, PendingRequest& asked) {
  const auto& request = asked.request;
  auto& call = state.call;
  const auto text = summary(state);
  switch (call.end(request.from_tag, request.to_tag, request.via_branch)) {
    case Call::Ended::kNothing:
      if (options_.upstream) return upstream_.leave(asked);
      return reply(asked, nothing_to_delete(request));
    case Call::Ended::kReOffer:
      // The media proxy must not hear of it: it would end the whole call.
      log(state, LogLevel::kInfo, "re-offer withdrawn");
      state.changed = true;
      calls_.tell_changed(state);
      return reply(asked, text);
    case Call::Ended::kBranch: log(state, LogLevel::kInfo, "branch ended"); break;
    case Call::Ended::kCall: log(state, LogLevel::kInfo, "ended"); break;
  }
  state.changed = true;
  if (call.over()) {
    // Before the reply: a call that is over must not be there after a restart.
    host_.on_ended(call.id);
    state.changed = false;
  }
  calls_.tell_changed(state);
  options_.upstream ? upstream_.leave(asked) : reply(asked, text);
}

void CallController::query(CallState& state, PendingRequest asked) {
  if (!counters_.ask_for_query(state.call, asked)) reply(asked, summary(state));
}

json CallController::summary(const CallState& state) const {
  auto result = summary_of(state.call);
  if (!counters_.readable()) {
    result["warning"] = "Counters cannot be read: totals are out of date";
  }
  return result;
}

void CallController::reply(PendingRequest& asked, const json& text) {
  if (!std::exchange(asked.replied, true)) host_.reply(asked.id, text);
}

void CallController::log(const CallState& state, LogLevel level, const std::string& text) {
  host_.log_call(state.call.id, level, text);
}

// --- Offers and answers --------------------------------------------------------------------------

void CallController::start_exchange(CallState& state, PendingRequest asked) {
  if (const auto wrong = rules_.fault(asked.since.instant)) {
    return reply(asked, error_reply(*wrong));
  }
  if (options_.upstream && rules_.is_nat()) {
    return reply(asked, error_reply("--upstream needs a firewall, not a NAT"));
  }
  auto exchange = read_exchange(state.call, asked, options_, rules_.is_nat());
  if (!exchange) return reply(asked, error_reply(exchange.error()));
  if (exchange->ports_lost) {
    log(state, LogLevel::kWarning, "ports of the offer are lost, and stay closed");
  }
  if (!exchange->refusal.empty()) return reply(asked, error_reply(exchange->refusal));
  auto& operation = state.operation.emplace(std::move(asked), std::move(*exchange));
  if (options_.upstream) {
    ++operation.pending;
    return upstream_.ask(operation.asked, state.call.id);
  }
  for (const auto& ports : operation.exchange.reserve) reserve(state, ports);
  go_on(state);
}

void CallController::on_upstream_reply(std::uint64_t id, const json& text, Instant now) {
  const auto call_id = upstream_.on_reply(id, text);
  if (!call_id) return;
  auto& state = *calls_.find(*call_id);
  auto& operation = *state.operation;
  --operation.pending;
  const auto body = text.find("sdp");
  const auto sdp = is_ok(text) && body != text.end() && body->is_string()
                       ? parse_sdp(body->get_ref<const std::string&>())
                       : std::unexpected(std::string("no SDP"));
  if (!sdp) {
    operation.failure = Failure{std::nullopt, "the media proxy has refused it"};
    operation.passed = std::make_shared<json>(text);
  } else if (const auto wrong = take_sent_on(operation.exchange, *sdp, options_.media)) {
    operation.failure = Failure{std::nullopt, *wrong};
  } else {
    operation.passed = std::make_shared<json>(text);
  }
  go_on(state);
  run(state);
  maintain_rules(now);
}

/// Asks for the rules of the operation that do not exist. Those with the same reserved ports share
/// the binding of the first one, once that is enabled.
void CallController::ask_for_rules(CallState& state) {
  std::set<InternalPorts> first;
  for (const auto& rule : state.operation->exchange.rules) {
    if (state.call.rules.contains(rule)) continue;
    const bool reserved = state.call.reservations.contains(rule.internal);
    if (!reserved || first.insert(rule.internal).second) enable(state, rule);
  }
}

/// Finishes the operation if all results are there.
void CallController::go_on(CallState& state) {
  auto& operation = *state.operation;
  if (operation.pending == 0 && !operation.failure) ask_for_rules(state);
  if (operation.pending > 0) return;
  // Out of the call first: rules that were made in vain are then no longer needed.
  auto ended = std::move(operation);
  state.operation.reset();
  if (ended.asked.request.command == Command::kDelete) return end(state, ended.asked);
  finish(state, std::move(ended));
}

void CallController::finish(CallState& state, Operation operation) {
  auto& [asked, exchange, passed, pending, failure] = operation;
  if (failure) {
    log(state, LogLevel::kWarning,
        (exchange.answers ? "answer failed: " : "offer failed: ") + failure->text);
    const bool refused = passed && !is_ok(*passed);
    return reply(asked, refused ? *passed : error_reply(refusal(failure->code, failure->text)));
  }
  log(state, LogLevel::kInfo, conclude(state.call, std::move(exchange), asked));
  state.changed = true;
  calls_.tell_changed(state);
  if (passed) return reply(asked, *passed);
  reply(asked, {{"result", "ok"}, {"sdp", translated(state.call, asked.request, rules_.is_nat())}});
}

// --- Rules ---------------------------------------------------------------------------------------

void CallController::on_session(const Capabilities& capabilities, Instant now) {
  rules_.on_session(capabilities);
  to_restore_.clear();
  if (!capabilities.nat) {
    for (const auto& [id, state] : calls_.all()) want_again(state);
  }
  if (rules_.count() != 0) counters_.watch_for_silence(now);
  maintain_rules(now);
}

/// The legs of the call need these rules, and it does not have them, whenever they were lost.
void CallController::want_again(const CallState& state) {
  for (const auto& rule : state.call.needed()) {
    if (!state.call.rules.contains(rule)) to_restore_.emplace_back(state.call.id, rule);
  }
}

void CallController::enable(CallState& state, const NeededRule& rule) {
  ++state.operation->pending;
  rules_.enable(state.call, rule, false);
}

void CallController::reserve(CallState& state, const InternalPorts& ports) {
  ++state.operation->pending;
  rules_.reserve(state.call, ports);
}

void CallController::on_result(std::uint64_t id, const SimcoResult& result, Instant now) {
  if (const auto ended = rules_.on_result(id, result, now)) on_asked(*ended, now);
  maintain_rules(now);
}

void CallController::on_asked(const RuleResult& result, Instant now) {
  const auto& request = result.request;
  auto* const call = calls_.find(request.call_id);
  if (call == nullptr) {  // ended since
    if (result.made) rules_.end(result.made->pid);
    return;
  }
  auto& state = *call;
  if (result.made) add_rule(state, request, *result.made, now);
  if (request.again) {
    if (!result.made && !result.session_lost) {
      log(state, LogLevel::kWarning, "a rule was lost: " + result.text);
    }
    return run(state);
  }
  auto& operation = *state.operation;
  --operation.pending;
  if (result.session_lost && !operation.asked.replied) {
    return request.rule ? enable(state, *request.rule) : reserve(state, *request.ports);
  }
  if (!result.made && !operation.failure) operation.failure = Failure{result.code, result.text};
  go_on(state);
  run(state);
}

void CallController::add_rule(CallState& state, const RuleRequest& request, const MadeRule& made,
                              Instant now) {
  auto& call = state.call;
  state.changed = true;
  if (!request.rule) {
    call.reservations[*request.ports] = made;
    return log(state, LogLevel::kInfo,
               fmt::format("rule {} reserved: {} for {}", made.pid.value, to_text(made.outside),
                           to_text(tuple_of(*request.ports))));
  }
  if (request.ports) call.reservations.erase(*request.ports);  // it has become the rule
  // Asked for twice, if it was made again after a lost session while an answer wanted it as well.
  if (const auto twice = call.rules.find(*request.rule); twice != call.rules.end()) {
    call.tally.end(twice->second.pid);
    rules_.end(twice->second.pid);
  }
  call.rules[*request.rule] = made;
  call.tally.begin(made.pid, *request.rule, now);
  counters_.watch_for_silence(now);
  log(state, LogLevel::kInfo,
      fmt::format("rule {} enabled: {}", made.pid.value, to_string(*request.rule)));
}

/// Ends the rules and reservations that the call no longer needs; rules of a call that goes on
/// after a last reading of their counters.
void CallController::release_rules(CallState& state) {
  auto released = state.call.release();
  for (const auto pid : released) {
    log(state, LogLevel::kInfo, fmt::format("rule {} ended", pid.value));
    state.changed = true;
  }
  end_rules(&state.call, counters_.ask_for_last(state.call, std::move(released)));
}

/// Ends rules; `call`: theirs, or null if it is over.
void CallController::end_rules(Call* call, const std::vector<PolicyRuleId>& pids) {
  for (const auto pid : pids) {
    if (call != nullptr) call->tally.end(pid);
    rules_.end(pid);
  }
}

void CallController::on_rule_event(PolicyRuleId pid, Lifetime lifetime, Instant now) {
  const auto call_id = rules_.on_rule_event(pid, lifetime, now);
  if (auto* state = call_id ? calls_.find(*call_id) : nullptr) {
    log(*state, LogLevel::kWarning, fmt::format("rule {} was ended by the middlebox", pid.value));
    forget(*state, pid);
  }
  maintain_rules(now);
}

std::optional<NeededRule> CallController::forget(CallState& state, PolicyRuleId pid) {
  auto rule = state.call.forget(pid);
  state.changed = true;
  calls_.tell_changed(state);
  calls_.schedule(state);
  return rule;
}

void CallController::maintain_rules(Instant now) {
  rules_.send_due(now);
  while (const auto lost = rules_.take_lost()) {
    // A rule whose packets are still being asked for may outlive its call.
    auto* const state = calls_.find(lost->call_id);
    if (state == nullptr) continue;
    log(*state, LogLevel::kWarning, fmt::format("rule {} was lost", lost->pid.value));
    const auto rule = forget(*state, lost->pid);
    if (rule && rules_.is_open() && !rules_.is_nat()) {
      to_restore_.emplace_back(lost->call_id, *rule);
    }
  }
  while (rules_.may_restore() && !to_restore_.empty()) {
    const auto [call_id, rule] = std::move(to_restore_.front());
    to_restore_.pop_front();
    const auto* const state = calls_.find(call_id);
    if (state == nullptr) continue;
    const auto& call = state->call;
    if (call.needed().contains(rule) && !call.rules.contains(rule)) rules_.enable(call, rule, true);
  }
}

// --- Counters ------------------------------------------------------------------------------------

void CallController::on_counted(std::uint64_t id, const Counted& counted, Instant now) {
  auto question = counters_.on_counted(id, counted, now);
  if (!question) return;
  if (question->purpose == Purpose::kSilence) {
    if (counted) end_silent_calls(*counted, now);
    return maintain_rules(now);
  }
  auto* const state = calls_.find(question->call_id);
  if (state != nullptr && counted) {
    state->changed |= state->call.tally.note(*counted, now);
    calls_.tell_changed(*state);
  }
  if (question->purpose == Purpose::kQuery) {
    reply(question->query, state == nullptr ? error_reply("Unknown call-id") : summary(*state));
    return maintain_rules(now);
  }
  end_rules(state == nullptr ? nullptr : &state->call, question->released);
  if (state != nullptr) {
    if (question->purpose == Purpose::kReleased) {
      state->changed = true;
    } else if (state->operation) {  // the delete
      --state->operation->pending;
      go_on(*state);
    }
    run(*state);
  }
  maintain_rules(now);
}

/// Reads the counters of all rules if that is due.
void CallController::read_all_counters(Instant now) {
  if (!counters_.reading_is_due(now)) return;
  std::vector<PolicyRuleId> all;
  for (const auto& [id, state] : calls_.all()) {
    for (const auto& [rule, made] : state.call.rules) all.push_back(made.pid);
  }
  counters_.read_all(all);
}

void CallController::end_silent_calls(const agent::RuleTraffics& traffic, Instant now) {
  std::vector<CallState*> silent;
  for (auto& [id, state] : calls_.all()) {
    state.changed |= state.call.tally.note(traffic, now);
    calls_.tell_changed(state);
    if (!state.operation && counters_.is_silent(state.call, traffic, now)) silent.push_back(&state);
  }
  for (auto* const state : silent) {
    counters_.end_silent(state->call, now);
    run(*state);
  }
}

// --- Time ----------------------------------------------------------------------------------------

std::optional<Instant> CallController::next_deadline() const {
  return earlier(earlier(calls_.next_due(), rules_.next_deadline()),
                 earlier(counters_.next_deadline(), upstream_.next_deadline()));
}

void CallController::on_deadline(Instant now) {
  upstream_.on_deadline(now);
  while (auto* const state = calls_.first_due(now)) {
    expire(*state, now);
    run(*state);
  }
  read_all_counters(now);
  maintain_rules(now);
}

/// Ends a call at its maximum duration, and forgets offers that had no answer in time.
void CallController::expire(CallState& state, Instant now) {
  drop_overdue(state, now);
  if (state.operation) return;
  auto& call = state.call;
  if (call.ends_at <= now) {
    log(state, LogLevel::kWarning, "ended: it has reached its maximum duration");
    call.end_all();
  }
  const auto forgotten = std::erase_if(call.offers, [&](const Offer& offer) {
    return !offer.answered && offer.made_at + kOfferPatience <= now;
  });
  if (forgotten == 0) return;
  state.changed = true;
  log(state, LogLevel::kWarning, "an offer without an answer is forgotten");
}

/// Replies to requests that have waited too long. A delete is carried out nevertheless.
void CallController::drop_overdue(CallState& state, Instant now) {
  const auto overdue = [&](const PendingRequest& asked) {
    return asked.since.instant + kReplyPatience <= now;
  };
  if (state.operation && overdue(state.operation->asked) && !state.operation->asked.replied) {
    auto& operation = *state.operation;
    const bool upstream = upstream_.withdraw(operation.asked);
    const std::string who = upstream ? "media proxy" : "middlebox";
    reply(operation.asked, error_reply("The " + who + " does not reply"));
    operation.failure = Failure{std::nullopt, "the " + who + " does not reply"};
    log(state, LogLevel::kWarning, operation.failure->text);
    if (upstream) {
      --operation.pending;
      go_on(state);
    }
  }
  for (auto& asked : state.waiting) {
    if (overdue(asked)) reply(asked, error_reply("Requests before this one have no reply yet"));
  }
  std::erase_if(state.waiting, [](const PendingRequest& asked) {
    return asked.replied && asked.request.command != Command::kDelete;
  });
}

}  // namespace simco::ng
