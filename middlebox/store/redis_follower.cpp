// Whether the server is a replica, the rules in it, and what the stream says of them.
#include "middlebox/store/redis_follower.hpp"

#include <hiredis/hiredis.h>

#include <ranges>
#include <thread>

#include "middlebox/store/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::store {

bool RedisFollower::is_copy() {
  if (!redis_.connected()) redis_.connect();
  const auto role = redis_.ask({"ROLE"});
  // | "slave" | host | port | state | offset |
  const bool copy = role->elements > 3 && text_of(role->element[0]) == "slave";
  current_ = !copy || text_of(role->element[3]) == "connected";
  if (copy) {
    lease_.set_owner(std::string(text_of(role->element[1])),
                     static_cast<std::uint16_t>(role->element[2]->integer));
  } else {
    redis_.ask({"EXISTS", redis_.key("about")});  // fails while it loads, and may become a replica
  }
  return copy;
}

PolicyRuleId RedisFollower::pid_in(std::string_view field) {
  const auto pid = parse_number<std::uint32_t>(field, 1);
  if (!pid) redis_.lose("expected a PID as field name, got '" + std::string(field) + "'");
  return PolicyRuleId{*pid};
}

// --- Everything ----------------------------------------------------------------------------------

Batch RedisFollower::read_all() {
  redis_.send({"MULTI"});
  ask_about(redis_);
  redis_.send({"HGETALL", redis_.key("rules")});
  redis_.send({"EXEC"});
  for (int queued = 0; queued < 3; ++queued) redis_.next();
  const auto both = redis_.next();
  const auto about = about_in(redis_, both->element[0]);
  const auto* const rules = both->element[1];
  if (rules->type == REDIS_REPLY_ERROR) redis_.lose(std::string(text_of(rules)));
  Batch batch;
  batch.all = !about.owner.empty();
  if (batch.all) lease_.end_now();
  batch.counters = about.counters;
  for (std::size_t i = 0; i + 1 < rules->elements; i += 2) {
    batch.entries.push_back(
        {pid_in(text_of(rules->element[i])), std::string(text_of(rules->element[i + 1]))});
  }
  followed_ = about.owner;
  if (batch.all) {
    at_.stored = about.batch.value_or(kUnknown);
    at_.tried = about.batch.value_or(at_.tried);
  } else {
    note_nothing();
  }
  at_.rules = static_cast<std::int64_t>(batch.entries.size());
  return batch;
}

void RedisFollower::note_nothing() {
  if (at_.stored != 0) at_.stored = kUnknown;
  at_.tried = 0;
}

// --- Changes -------------------------------------------------------------------------------------

Batch RedisFollower::read_changes(const About& about, bool wait) {
  if (about.owner.empty()) note_nothing();
  // It was emptied, or not yet filled. If it is ours, the first write finds that, and is one of all
  // rules.
  if (about.owner.empty() && !wait) return {};
  if (const auto changed = read_changed_pids(about, wait)) return read_rules(*changed);
  return read_all();
}

std::optional<RedisFollower::Changed> RedisFollower::read_changed_pids(const About& about,
                                                                       bool wait) {
  // Two owners number their batches alike, unless one goes on where the other has stopped.
  const bool continued =
      !followed_.empty() && about.earlier.starts_with(followed_) && about.claimed >= at_.stored;
  const bool same = about.owner == followed_;
  if (!about.owner.empty() && !same && !continued) return std::nullopt;
  // Redis has gone back: its owner will write everything.
  if (same && (!about.batch || (at_.stored != kUnknown && *about.batch < at_.stored))) {
    if (wait) std::this_thread::sleep_for(kFollowPatience);
    return Changed{{"HMGET", redis_.key("rules")}, at_.stored};
  }
  RedisConnection::Words read = {"XREAD"};
  if (wait) read.insert(read.end(), {"BLOCK", std::to_string(kFollowPatience.count())});
  read.insert(read.end(), {"STREAMS", redis_.key("changes"), stream_id(at_.stored)});
  const auto streams = redis_.ask(read);
  Changed changed{{"HMGET", redis_.key("rules")}, at_.stored};
  if (streams->type == REDIS_REPLY_NIL) {
    if (!about.owner.empty() && about.batch != at_.stored) return std::nullopt;
    if (continued) followed_ = about.owner;
    return changed;
  }
  const auto* const batches = streams->element[0]->element[1];
  for (std::size_t i = 0; i < batches->elements; ++i) {
    const auto* const batch = batches->element[i];
    // "owner", its token, "pids", these
    const auto* const fields = batch->element[1];
    const bool next = text_of(batch->element[0]) == stream_id(changed.batch + 1);
    if (!next || fields->elements != 4) return std::nullopt;
    if (continued && changed.batch >= about.claimed) followed_ = about.owner;
    if (text_of(fields->element[1]) != followed_) return std::nullopt;
    ++changed.batch;
    for (const auto pid : std::views::split(text_of(fields->element[3]), ' ')) {
      if (!pid.empty()) changed.words.emplace_back(pid.begin(), pid.end());
    }
  }
  return changed;
}

Batch RedisFollower::read_rules(const Changed& changed) {
  const auto& words = changed.words;
  Batch batch;
  const bool any = words.size() > 2;
  if (any) redis_.send(words);
  ask_about(redis_);
  redis_.send({"HLEN", redis_.key("rules")});
  const auto rules = any ? redis_.next() : nullptr;
  batch.counters = about_in(redis_, redis_.next().get()).counters;
  at_.rules = redis_.next()->integer;
  for (std::size_t i = 0; any && i < rules->elements; ++i) {
    batch.entries.push_back({pid_in(words[i + 2]), std::string(text_of(rules->element[i]))});
  }
  at_.stored = changed.batch;
  if (at_.stored != kUnknown) at_.tried = at_.stored;
  return batch;
}

std::optional<Instant> RedisFollower::confirm() {
  if (followed_.empty() || at_.stored == kUnknown) return std::nullopt;
  return lease_.renew({followed_, at_.stored});
}

}  // namespace simco::store
