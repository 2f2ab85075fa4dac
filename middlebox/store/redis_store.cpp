// Speaks to Redis by pipelined commands. Each batch is a transaction (WATCH, MULTI, EXEC) that
// fails if another process has become the owner of the keys.
#include "middlebox/store/redis_store.hpp"

#include <fmt/ranges.h>
#include <hiredis/hiredis.h>
#include <sys/random.h>

#include <array>
#include <limits>
#include <ranges>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "middlebox/store/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::store {
namespace {

/// Version of the keys and their contents.
constexpr const char* kKeysVersion = "1";

std::string random_token() {
  std::array<unsigned char, 16> octets{};
  if (::getrandom(octets.data(), octets.size(), 0) != static_cast<ssize_t>(octets.size())) {
    throw StoreError("cannot get random numbers");
  }
  return fmt::format("{:02x}", fmt::join(octets, ""));
}

/// As the number of a batch: no batch has it, so that everything must be read.
constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();

std::string ms_of(std::chrono::milliseconds time) { return std::to_string(time.count()); }

/// The entry of the stream for batch `number`.
std::string stream_id(std::uint64_t number) { return std::to_string(number) + "-0"; }

}  // namespace

// --- The owner and its numbers -------------------------------------------------------------------

void RedisStore::ask_about() {
  redis_.send({"HMGET", key("about"), "schema", "owner", "batch", "next_pid", "next_gid",
               "previous", "claimed", "shared"});
}

RedisStore::About RedisStore::about_in(const redisReply* reply) {
  if (reply->type == REDIS_REPLY_ERROR) redis_.lose(std::string(text_of(reply)));
  const auto* const* fields = reply->element;
  About about;
  const auto number = [&](std::size_t field, const char* name, auto& value) {
    if (fields[field]->type == REDIS_REPLY_NIL) return;
    const auto parsed = parse_number<std::uint64_t>(text_of(fields[field]), 0);
    if (!parsed) redis_.lose(std::string("the value of ") + name + " is not a number");
    value = *parsed;
  };
  if (fields[0]->type != REDIS_REPLY_NIL && text_of(fields[0]) != kKeysVersion) {
    redis_.lose("written by another version of simco-middlebox (schema " +
                std::string(text_of(fields[0])) + ", this version supports " + kKeysVersion +
                "): run that version or use another name");
  }
  about.owner = text_of(fields[1]);
  number(2, "batch", about.batch);
  number(3, "next_pid", about.counters.next_pid);
  number(4, "next_gid", about.counters.next_gid);
  about.previous = text_of(fields[5]);
  number(6, "claimed", about.claimed);
  about.shared = text_of(fields[7]);
  return about;
}

void RedisStore::claim(const About& before) {
  token_ = random_token();
  const auto batch = std::to_string(before.batch.value_or(0));
  redis_.ask({"HSET", key("about"), "schema", kKeysVersion, "owner", token_, "batch", batch,
              "previous", before.owner, "claimed", batch});
  // The key may have another type.
  redis_.send({"ZREM", key("boxes"), lease_.member()});
  redis_.next_or_error();
  boxes_.ask();
  boxes_.note(redis_.next_or_error().get());
  // The boxes of an earlier owner may have leases, although Redis has lost them since.
  if (boxes_.none() && before.shared.empty()) return;
  shared_ = true;
  redis_.ask({"HSET", key("about"), "shared", token_});
}

void RedisStore::share(bool said) {
  if (said || failed_ || boxes_.none()) {
    redis_.ask({"UNWATCH"});
    return;
  }
  shared_ = true;
  redis_.ask({"MULTI"});
  redis_.ask({"HSET", key("about"), "shared", token_});
  redis_.ask({"EXEC"});
}

bool RedisStore::is_copy() {
  if (!redis_.connected()) redis_.connect();
  const auto role = redis_.ask({"ROLE"});
  // | "slave" | host | port | state | offset |
  const bool copy = role->elements > 3 && text_of(role->element[0]) == "slave";
  current_ = !copy || text_of(role->element[3]) == "connected";
  if (copy) {
    lease_.set_owner(std::string(text_of(role->element[1])),
                     static_cast<std::uint16_t>(role->element[2]->integer));
  } else {
    redis_.ask({"EXISTS", key("about")});  // fails while it loads, and may become a replica
  }
  return copy;
}

void RedisStore::verify() {
  if (is_copy()) {
    redis_.close();
    throw StoreTaken(place() + ": this Redis has become a replica");
  }
  bool said = false;
  try {
    said = require_ownership(false);
  } catch (const StoreLost&) {
    // A box may follow what Redis has now, and not what has ended since.
    if (shared_) withdraw();
    throw;
  }
  boxes_.ask();
  boxes_.note(redis_.next_or_error().get());
  share(said);
}

// --- Reading -------------------------------------------------------------------------------------

PolicyRuleId RedisStore::pid_in(std::string_view field) {
  const auto pid = parse_number<std::uint32_t>(field, 1);
  if (!pid) redis_.lose("expected a PID as field name, got '" + std::string(field) + "'");
  return PolicyRuleId{*pid};
}

Contents RedisStore::open() {
  const bool copy = is_copy();
  ask_about();
  const auto about = about_in(redis_.next().get());
  if (!copy) claim(about);
  auto all = read_all();
  return {std::move(all.entries), all.counters, !copy};
}

Batch RedisStore::read_all() {
  redis_.send({"MULTI"});
  ask_about();
  redis_.send({"HGETALL", key("rules")});
  redis_.send({"EXEC"});
  for (int queued = 0; queued < 3; ++queued) redis_.next();
  const auto both = redis_.next();
  const auto about = about_in(both->element[0]);
  const auto* const rules = both->element[1];
  if (rules->type == REDIS_REPLY_ERROR) redis_.lose(std::string(text_of(rules)));
  Batch batch;
  batch.all = !about.owner.empty();
  batch.counters = about.counters;
  for (std::size_t i = 0; i + 1 < rules->elements; i += 2) {
    batch.entries.push_back(
        {pid_in(text_of(rules->element[i])), std::string(text_of(rules->element[i + 1]))});
  }
  followed_ = about.owner;
  if (batch.all) {
    stored_ = about.batch.value_or(kUnknown);
    tried_ = about.batch.value_or(tried_);
  } else {
    note_nothing();
  }
  rules_ = static_cast<std::int64_t>(batch.entries.size());
  return batch;
}

// --- Following -----------------------------------------------------------------------------------

Changes RedisStore::follow() {
  const bool copy = is_copy();
  ask_about();
  const auto about = about_in(redis_.next().get());
  const bool found = !about.owner.empty();
  if (!found) note_nothing();
  if (!copy) claim(about);
  Changes changes;
  changes.owned = !copy;
  changes.current = current_;
  // It was emptied, or not yet filled: the first write finds that, and is one of all rules.
  if (!copy && !found) return changes;
  if (const auto changed = read_changed_pids(about, copy)) {
    changes.batch = read_rules(*changed);
  } else {
    changes.batch = read_all();
  }
  return changes;
}

std::optional<Instant> RedisStore::confirm() {
  if (followed_.empty() || stored_ == kUnknown) return std::nullopt;
  return lease_.renew({followed_, stored_});
}

void RedisStore::note_nothing() {
  if (stored_ != 0) stored_ = kUnknown;
  tried_ = 0;
}

std::optional<RedisStore::Changed> RedisStore::read_changed_pids(const About& about, bool wait) {
  // Two owners number their batches alike, unless one goes on where the other has stopped.
  const bool continued =
      !followed_.empty() && about.previous == followed_ && about.claimed >= stored_;
  const bool same = about.owner == followed_;
  if (!about.owner.empty() && !same && !continued) return std::nullopt;
  // Redis has gone back: its owner will write everything.
  if (same && (!about.batch || (stored_ != kUnknown && *about.batch < stored_))) {
    if (wait) std::this_thread::sleep_for(kFollowPatience);
    return Changed{{"HMGET", key("rules")}, stored_};
  }
  RedisConnection::Words read = {"XREAD"};
  if (wait) read.insert(read.end(), {"BLOCK", ms_of(kFollowPatience)});
  read.insert(read.end(), {"STREAMS", key("changes"), stream_id(stored_)});
  const auto streams = redis_.ask(read);
  Changed changed{{"HMGET", key("rules")}, stored_};
  if (streams->type == REDIS_REPLY_NIL) {
    if (!about.owner.empty() && about.batch != stored_) return std::nullopt;
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

Batch RedisStore::read_rules(const Changed& changed) {
  const auto& words = changed.words;
  Batch batch;
  const bool any = words.size() > 2;
  if (any) redis_.send(words);
  ask_about();
  redis_.send({"HLEN", key("rules")});
  const auto rules = any ? redis_.next() : nullptr;
  batch.counters = about_in(redis_.next().get()).counters;
  rules_ = redis_.next()->integer;
  for (std::size_t i = 0; any && i < rules->elements; ++i) {
    batch.entries.push_back({pid_in(words[i + 2]), std::string(text_of(rules->element[i]))});
  }
  stored_ = changed.batch;
  if (stored_ != kUnknown) tried_ = stored_;
  return batch;
}

// --- Writing -------------------------------------------------------------------------------------

bool RedisStore::require_ownership(bool all) {
  redis_.send({"WATCH", key("about"), key("rules")});
  redis_.send({"HMGET", key("about"), "owner", "batch", "shared"});
  redis_.send({"HLEN", key("rules")});
  redis_.next();
  const auto about = redis_.next_or_error();
  const auto rules = redis_.next_or_error();  // fails if the key has another type
  if (about->type == REDIS_REPLY_ERROR) redis_.lose(std::string(text_of(about.get())));
  const auto owner = text_of(about->element[0]);
  const bool emptied = about->element[0]->type == REDIS_REPLY_NIL;
  if (!emptied && owner != token_) {
    redis_.close();
    throw StoreTaken(place() +
                     ": another middlebox has taken over these rules; this process must stop");
  }
  const bool said = text_of(about->element[2]) == token_;
  if (all) return said;
  const auto batch = text_of(about->element[1]);
  const bool earlier = stored_ != 0 && !parse_number<std::uint64_t>(batch, stored_);
  const bool evicted = rules->type != REDIS_REPLY_INTEGER || rules->integer < rules_;
  if (!emptied && !earlier && !evicted) return said;
  redis_.close();
  throw StoreLost(place() +
                  (emptied   ? ": the rules are gone"
                   : earlier ? ": Redis has gone back to an earlier state"
                             : ": Redis has lost rules") +
                  "; writing them all again");
}

std::size_t RedisStore::queue(const Batch& batch) {
  const auto rules = key("rules");
  std::size_t queued = 0;
  const auto command = [&](const RedisConnection::Words& words) {
    redis_.send(words);
    ++queued;
  };
  command({"MULTI"});
  if (batch.all) {
    command({"DEL", rules, key("changes"), key("boxes"), key("confirmed")});
    boxes_.forget_confirmed();
  }
  std::string pids;
  for (const auto& [pid, octets] : batch.entries) {
    const auto field = std::to_string(pid.value);
    pids += (pids.empty() ? "" : " ") + field;
    if (octets.empty()) {
      command({"HDEL", rules, field});
    } else {
      command({"HSET", rules, field, octets});
    }
  }
  // A follower that finds a number missing reads everything.
  tried_ += batch.all ? 2 : 1;
  command({"XADD", key("changes"), "MAXLEN", "~", std::to_string(kBatchesKept), stream_id(tried_),
           "owner", token_, "pids", pids});
  command({"HSET", key("about"), "schema", kKeysVersion, "owner", token_, "batch",
           std::to_string(tried_), "next_pid", std::to_string(batch.counters.next_pid), "next_gid",
           std::to_string(batch.counters.next_gid), "shared", shared_ ? token_ : ""});
  boxes_.ask();
  ++queued;
  command({"HLEN", rules});
  redis_.send({"EXEC"});
  return queued;
}

void RedisStore::write(const Batch& batch) {
  RedisConnection::Reply done;
  failed_ = true;
  try {
    done = store(batch);
    failed_ = false;
  } catch (const StoreTaken&) {
    throw;
  } catch (const StoreError&) {
    close_others();
    throw;
  }
  await_boxes(done->element[done->elements - 2], !batch.all);
  if (!shared_ && !boxes_.none()) share(require_ownership(false));
  await_replicas();
}

void RedisStore::await_boxes(const redisReply* boxes, bool complete) {
  try {
    boxes_.await(boxes, stored_, token_, complete);
  } catch (const StoreError&) {
    if (shared_) Boxes::await_end();
    throw;
  }
}

// The middlebox ends rules even if that cannot be stored.
void RedisStore::close_others() {
  if (!shared_) return;
  for (int tries = kWithdrawTries; tries > 0 && !withdraw(); --tries) {
    std::this_thread::sleep_for(kLeasePatience);
  }
  Boxes::await_end();
}

// One command, which names owner and batch: a Redis that stands still carries it out as soon as it
// goes on, and it means nothing for later batches or to another owner.
bool RedisStore::withdraw() {
  try {
    RedisConnection again(redis_.address(), kLeasePatience);
    again.connect();
    again.ask({"HSET", key("about"), "withdrawn", token_ + " " + std::to_string(tried_)});
    return true;
  } catch (const StoreError&) {
    return false;
  }
}

RedisConnection::Reply RedisStore::store(const Batch& batch) {
  if (!redis_.connected()) {
    redis_.connect();
    boxes_.forget_confirmed();  // its clock may have gone back with it
  }
  require_ownership(batch.all);
  std::size_t queued = queue(batch);
  const auto before = std::exchange(rules_, 0);  // unless we learn more
  for (; queued > 0; --queued) redis_.next();
  auto done = redis_.next();
  if (done->type == REDIS_REPLY_NIL) {
    rules_ = before;
    require_ownership(batch.all);  // Another middlebox may have been that client.
    redis_.lose("another client changed the keys meanwhile");
  }
  // Redis carries out the other commands although a command fails.
  for (std::size_t i = 0; i < done->elements; ++i) {
    if (done->element[i]->type != REDIS_REPLY_ERROR) continue;
    const auto why = std::string(text_of(done->element[i]));
    redis_.close();
    throw StoreLost(place() + ": " + why + "; writing all rules again");
  }
  rules_ = done->element[done->elements - 1]->integer;
  stored_ = tried_;
  return done;
}

void RedisStore::await_replicas() {
  const auto replicas = redis_.address().replicas;
  if (replicas == 0) return;
  const auto have = redis_.ask({"WAIT", std::to_string(replicas), ms_of(kReplicaPatience)});
  if (have->integer < replicas) {
    throw StoreError(place() + ": " + std::to_string(have->integer) + " of " +
                     std::to_string(replicas) + " replicas confirmed the write");
  }
}

}  // namespace simco::store
