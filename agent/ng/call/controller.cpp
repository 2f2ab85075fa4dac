// Requests and their order, the life of calls, and deadlines.
#include "agent/ng/call/controller.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simco/wire/assert.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;

constexpr const char* kNothingToDelete = "Call-ID not found or tags didn't match";

json nothing_to_delete(const Request& request) {
  if (request.fatal) return error_reply(kNothingToDelete);
  return {{"result", "ok"}, {"warning", kNothingToDelete}};
}

}  // namespace

CallController::CallController(Host& host, Options options)
    : host_(host), options_(std::move(options)) {
  keeper_.on_session_end();  // there is none yet
}

void CallController::restore(Call call, Instant now) {
  const auto id = call.id;
  auto& entry = calls_[id];
  entry.call = std::move(call);
  const auto keep = [&](const auto& needed, const MadeRule& made) {
    owners_[made.pid] = id;
    keeper_.keep(kept(needed, made, options_.lifetime), options_.lifetime, now);
  };
  for (const auto& [rule, made] : entry.call.rules) keep(rule, made);
  for (const auto& [ports, made] : entry.call.reservations) keep(ports, made);
  schedule(entry);
}

void CallController::on_request(std::uint64_t id, Request request, Moment now) {
  Waiting asked{id, std::move(request), now};
  const auto command = asked.request.command;
  const bool ours = command == Command::kOffer || command == Command::kAnswer;
  const bool known = calls_.contains(asked.request.call_id);
  if (options_.upstream && !ours && (command != Command::kDelete || !known)) {
    return leave_to_proxy(asked);
  }
  if (command == Command::kPing) return reply(asked, {{"result", "pong"}});
  if (command == Command::kList) return list(asked);
  if (command == Command::kStatistics) return reply(asked, statistics());
  auto* entry = entry_for(asked);
  if (entry == nullptr) return;
  if (command == Command::kQuery) return query(*entry, std::move(asked));
  entry->call.last_signal = now.wall;
  if (command == Command::kAnswer) note_answer(*entry, asked.request);
  if (entry->waiting.size() >= kWaitingMax) {
    return reply(asked, error_reply("Too many requests for this call"));
  }
  entry->waiting.push_back(std::move(asked));
  run(entry->call.id);
  tend(now.instant);
}

/// A re-offer that has an answer is not refused, whatever becomes of that answer here: a delete
/// then ends the call.
void CallController::note_answer(Entry& entry, const Request& request) {
  auto* offer = entry.call.offer_for(request.from_tag, request.to_tag, request.via_branch);
  if (offer != nullptr && std::exchange(offer->withdrawable, false)) entry.changed = true;
}

/// Returns the call, which an offer makes, or replies and returns null.
CallController::Entry* CallController::entry_for(Waiting& asked) {
  const auto& request = asked.request;
  const auto found = calls_.find(request.call_id);
  if (found != calls_.end()) return &found->second;
  if (request.command == Command::kDelete) {
    reply(asked, nothing_to_delete(request));
  } else if (request.command != Command::kOffer) {
    reply(asked, error_reply("Unknown call-id"));
  } else if (calls_.size() >= options_.calls_max) {
    reply(asked, error_reply("Parallel session limit reached"));
  } else {
    auto& entry = calls_[request.call_id];
    ++calls_begun_;
    entry.call.id = request.call_id;
    entry.call.created = asked.since.wall;
    entry.call.ends_at = asked.since.instant + options_.duration_max;
    return &entry;
  }
  return nullptr;
}

/// Starts what waits, one after the other, and ends the call if nothing is left of it.
void CallController::run(const std::string& call_id) {
  const auto found = calls_.find(call_id);
  if (found == calls_.end()) return;
  auto& entry = found->second;
  while (!entry.operation && !entry.waiting.empty()) {
    auto asked = std::move(entry.waiting.front());
    entry.waiting.pop_front();
    start(entry, std::move(asked));
  }
  if (!entry.operation) {
    sweep(entry);
    if (entry.call.over()) {
      host_.on_ended(entry.call.id);
      if (entry.due) due_.erase({*entry.due, entry.call.id});
      calls_.erase(found);
      return;
    }
  }
  tell_changed(entry);
  schedule(entry);
}

void CallController::tell_changed(Entry& entry) {
  if (std::exchange(entry.changed, false)) host_.on_changed(entry.call);
}

void CallController::start(Entry& entry, Waiting asked) {
  switch (asked.request.command) {
    case Command::kOffer: return start_offer(entry, std::move(asked));
    case Command::kAnswer: return start_answer(entry, std::move(asked));
    case Command::kDelete: return start_delete(entry, std::move(asked));
    case Command::kPing:
    case Command::kQuery:
    case Command::kList:
    case Command::kStatistics: break;  // on_request() answers them
  }
  SIMCO_ASSERT(false);
}

void CallController::end(Entry& entry, Waiting& asked) {
  const auto& request = asked.request;
  auto text = summary(entry);
  switch (entry.call.end(request.from_tag, request.to_tag, request.via_branch)) {
    case Call::Ended::kNothing:
      if (options_.upstream) return leave_to_proxy(asked);
      return reply(asked, nothing_to_delete(request));
    case Call::Ended::kReOffer:
      // The media proxy must not hear of it: it would end the whole call.
      log(entry, LogLevel::kInfo, "re-offer withdrawn");
      entry.changed = true;
      tell_changed(entry);
      return reply(asked, text);
    case Call::Ended::kBranch: log(entry, LogLevel::kInfo, "branch ended"); break;
    case Call::Ended::kCall: log(entry, LogLevel::kInfo, "ended"); break;
  }
  entry.changed = true;
  if (entry.call.over()) {
    // Before the reply: a call that is over must not be there after a restart.
    host_.on_ended(entry.call.id);
    entry.changed = false;
  }
  tell_changed(entry);
  options_.upstream ? leave_to_proxy(asked) : reply(asked, text);
}

void CallController::list(Waiting& asked) {
  auto left = asked.request.limit == 0 ? kListLimitDefault : asked.request.limit;
  json calls = json::array();
  for (auto at = calls_.begin(); at != calls_.end() && left > 0; ++at, --left) {
    calls.push_back(at->first);
  }
  reply(asked, {{"result", "ok"}, {"calls", std::move(calls)}});
}

/// Those of rtpengine's figures that there are here.
json CallController::statistics() const {
  const json current = {{"sessionsown", calls_.size()}, {"sessionstotal", calls_.size()}};
  const json total = {{"managedsessions", calls_begun_}};
  return {{"result", "ok"},
          {"statistics", {{"currentstatistics", current}, {"totalstatistics", total}}}};
}

/// Passes on a request whose reply is the media proxy's, unless that would be too late.
void CallController::leave_to_proxy(Waiting& asked) {
  const bool replied = std::exchange(asked.replied, true);
  if (!replied) left_to_proxy_[asked.id] = asked.since.instant + kReplyPatience;
  host_.pass_on(asked.id, asked.request.dictionary);
}

void CallController::reply(Waiting& asked, const json& text) {
  if (!std::exchange(asked.replied, true)) host_.reply(asked.id, text);
}

void CallController::log(const Entry& entry, LogLevel level, const std::string& what) {
  // As a JSON string, a call-id is one line whatever octets it has.
  const auto id = json(entry.call.id).dump(-1, ' ', true, json::error_handler_t::replace);
  host_.log(level, fmt::format("call {}: {}", id, what));
}

// --- Time ----------------------------------------------------------------------------------------

std::optional<Instant> CallController::next_deadline() const {
  std::optional<Instant> result;
  if (!due_.empty()) result = due_.begin()->first;
  if (!left_to_proxy_.empty()) {
    const auto first = left_to_proxy_.begin()->second;
    result = result ? std::min(*result, first) : first;
  }
  if (read_counters_at_ && *read_counters_at_ != Instant::max()) {
    result = std::min(result.value_or(Instant::max()), *read_counters_at_);
  }
  if (const auto kept = keeper_.next_deadline()) {
    result = std::min(result.value_or(Instant::max()), *kept);
  }
  return result;
}

void CallController::on_deadline(Instant now) {
  while (!left_to_proxy_.empty() && left_to_proxy_.begin()->second <= now) {
    const auto id = left_to_proxy_.begin()->first;
    left_to_proxy_.erase(left_to_proxy_.begin());
    host_.reply(id, error_reply("The media proxy does not reply"));
  }
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto call_id = due_.begin()->second;
    auto& entry = calls_.at(call_id);
    attend(entry, now);
    run(call_id);
  }
  read_all_counters(now);
  tend(now);
}

void CallController::attend(Entry& entry, Instant now) {
  drop_overdue(entry, now);
  if (entry.operation) return;
  auto& call = entry.call;
  if (call.ends_at <= now) {
    log(entry, LogLevel::kWarning, "ended: it has reached its maximum duration");
    call.legs.clear();
    call.offers.clear();
  }
  const auto forgotten = std::erase_if(call.offers, [&](const Offer& offer) {
    return !offer.answered && offer.made_at + kOfferPatience <= now;
  });
  if (forgotten == 0) return;
  entry.changed = true;
  log(entry, LogLevel::kWarning, "an offer without an answer is forgotten");
}

/// Replies to what has waited too long. A delete is carried out nevertheless.
void CallController::drop_overdue(Entry& entry, Instant now) {
  const auto error = error_reply("The middlebox does not reply");
  const auto overdue = [&](const Waiting& asked) {
    return asked.since.instant + kReplyPatience <= now;
  };
  if (entry.operation && overdue(entry.operation->asked) && !entry.operation->asked.replied) {
    reply(entry.operation->asked, error);
    entry.operation->failure = Refusal{std::nullopt, "the middlebox does not reply"};
    log(entry, LogLevel::kWarning, "the middlebox does not reply");
    if (passed_on_.erase(entry.operation->asked.id) != 0) {
      --entry.operation->pending;
      go_on(entry);
    }
  }
  for (auto& asked : entry.waiting) {
    if (overdue(asked)) reply(asked, error);
  }
  std::erase_if(entry.waiting, [](const Waiting& asked) {
    return asked.replied && asked.request.command != Command::kDelete;
  });
}

void CallController::schedule(Entry& entry) {
  const auto& call = entry.call;
  auto due = call.ends_at;
  const auto by = [&](Instant at) { due = std::min(due, at); };
  if (entry.operation) due = Instant::max();
  for (const auto& offer : call.offers) {
    if (!entry.operation && !offer.answered) by(offer.made_at + kOfferPatience);
  }
  if (entry.operation && !entry.operation->asked.replied) {
    by(entry.operation->asked.since.instant + kReplyPatience);
  }
  for (const auto& asked : entry.waiting) {
    if (!asked.replied) by(asked.since.instant + kReplyPatience);
  }
  if (entry.due == due) return;
  if (entry.due) due_.erase({*entry.due, call.id});
  entry.due = due;
  due_.emplace(due, call.id);
}

}  // namespace simco::ng
