// The claim, the look at the store, and batches.
#include "middlebox/store/redis_owner.hpp"

#include <fmt/ranges.h>
#include <hiredis/hiredis.h>
#include <sys/random.h>

#include <array>
#include <utility>

#include "middlebox/store/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::store {
namespace {

std::string random_token() {
  std::array<unsigned char, 16> octets{};
  if (::getrandom(octets.data(), octets.size(), 0) != static_cast<ssize_t>(octets.size())) {
    throw StoreError("cannot get random numbers");
  }
  return fmt::format("{:02x}", fmt::join(octets, ""));
}

/// The tokens of the owners before, the last one first.
std::string with_earlier(const std::string& owner, const std::string& earlier) {
  if (owner.empty()) return earlier;
  const std::string all = earlier.empty() ? owner : owner + " " + earlier;
  return all.substr(0, kOwnersKept * (owner.size() + 1) - 1);
}

}  // namespace

// --- The owner -----------------------------------------------------------------------------------

void RedisOwner::claim(const About& before, const std::string& box) {
  token_ = random_token();
  earlier_ = with_earlier(before.owner, before.earlier);
  claimed_ = std::to_string(before.batch.value_or(0));
  redis_.ask({"HSET", redis_.key("about"), "schema", kKeysVersion, "owner", token_, "batch",
              claimed_, "earlier", earlier_, "claimed", claimed_});
  boxes_.begin(token_, box);
  shared_ = !boxes_.none();
}

void RedisOwner::verify() {
  require_ownership(false);
  redis_.ask({"UNWATCH"});
  // No box must get a lease by what Redis has now, while it is not what we have.
  if (failed_) return;
  for (int both = 0; both < 2; ++both) boxes_.look();  // the second answers what the first has read
  if (!boxes_.none()) shared_ = true;
}

void RedisOwner::require_ownership(bool all) {
  redis_.send({"WATCH", redis_.key("about"), redis_.key("rules")});
  redis_.send({"HMGET", redis_.key("about"), "owner", "batch"});
  redis_.send({"HLEN", redis_.key("rules")});
  redis_.next();
  const auto about = redis_.next_or_error();
  const auto rules = redis_.next_or_error();  // fails if the key has another type
  if (about->type == REDIS_REPLY_ERROR) redis_.lose(std::string(text_of(about.get())));
  const auto owner = text_of(about->element[0]);
  const bool emptied = about->element[0]->type == REDIS_REPLY_NIL;
  const bool returned = !owner.empty() && earlier_.contains(owner);
  if (!emptied && !returned && owner != token_) {
    redis_.close();
    throw StoreTaken(redis_.place() +
                     ": another middlebox has taken over these rules; this process must stop");
  }
  if (all) return;
  const auto batch = text_of(about->element[1]);
  const bool earlier =
      returned || (at_.stored != 0 && !parse_number<std::uint64_t>(batch, at_.stored));
  const bool evicted = rules->type != REDIS_REPLY_INTEGER || rules->integer < at_.rules;
  if (!emptied && !earlier && !evicted) return;
  redis_.close();
  throw StoreLost(redis_.place() +
                  (emptied   ? ": the rules are gone"
                   : earlier ? ": Redis has gone back to an earlier state"
                             : ": Redis has lost rules") +
                  "; writing them all again");
}

// --- Batches -------------------------------------------------------------------------------------

void RedisOwner::write(const Batch& batch) {
  try {
    failed_ = true;
    store(batch);
    failed_ = false;
    boxes_.await(at_.stored);
  } catch (const StoreTaken&) {
    throw;
  } catch (const StoreError&) {
    // The middlebox ends rules even if that cannot be stored.
    boxes_.await_end();
    throw;
  }
  await_replicas();
}

void RedisOwner::store(const Batch& batch) {
  if (!redis_.connected()) {
    redis_.connect();
  }
  require_ownership(batch.all);
  std::size_t queued = queue(batch);
  const auto before = std::exchange(at_.rules, 0);  // unless we learn more
  for (; queued > 0; --queued) redis_.next();
  auto done = redis_.next();
  if (done->type == REDIS_REPLY_NIL) {
    at_.rules = before;
    require_ownership(batch.all);  // Another middlebox may have been that client.
    redis_.lose("another client changed the keys meanwhile");
  }
  // Redis carries out the other commands although a command fails.
  for (std::size_t i = 0; i < done->elements; ++i) {
    if (done->element[i]->type != REDIS_REPLY_ERROR) continue;
    const auto why = std::string(text_of(done->element[i]));
    redis_.close();
    throw StoreLost(redis_.place() + ": " + why + "; writing all rules again");
  }
  boxes_.note(done->element[done->elements - 2]);
  if (!boxes_.none()) shared_ = true;
  at_.rules = done->element[done->elements - 1]->integer;
  at_.stored = at_.tried;
}

std::size_t RedisOwner::queue(const Batch& batch) {
  const auto rules = redis_.key("rules");
  std::size_t queued = 0;
  const auto command = [&](const RedisConnection::Words& words) {
    redis_.send(words);
    ++queued;
  };
  command({"MULTI"});
  if (batch.all) {
    command({"DEL", rules, redis_.key("changes"), redis_.key("questions"), redis_.key("answers"),
             redis_.key("confirmed")});
    boxes_.forget_confirmed();
    command({"HSET", redis_.key("about"), "earlier", earlier_, "claimed", claimed_});
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
  at_.tried += batch.all ? 2 : 1;
  command({"XADD", redis_.key("changes"), "MAXLEN", "~", std::to_string(kBatchesKept),
           stream_id(at_.tried), "owner", token_, "pids", pids});
  command({"HSET", redis_.key("about"), "schema", kKeysVersion, "owner", token_, "batch",
           std::to_string(at_.tried), "next_pid", std::to_string(batch.counters.next_pid),
           "next_gid", std::to_string(batch.counters.next_gid)});
  queued += boxes_.ask();
  command({"HLEN", rules});
  redis_.send({"EXEC"});
  return queued;
}

// Other boxes need answers meanwhile.
void RedisOwner::await_replicas() {
  const auto replicas = redis_.address().replicas;
  if (replicas == 0) return;
  std::int64_t have = 0;
  for (auto left = kReplicaPatience; left > left.zero(); left -= kLeaseRenewal) {
    have = redis_.ask({"WAIT", std::to_string(replicas), std::to_string(kLeaseRenewal.count())})
               ->integer;
    if (have >= replicas) return;
    boxes_.look();
  }
  throw StoreError(redis_.place() + ": " + std::to_string(have) + " of " +
                   std::to_string(replicas) + " replicas confirmed the write");
}

void RedisOwner::leave() {
  if (token_.empty() || failed_ || !redis_.connected()) return;
  try {
    require_ownership(false);
    boxes_.leave();
  } catch (const StoreError&) {
    // Their leases end.
  }
}

}  // namespace simco::store
