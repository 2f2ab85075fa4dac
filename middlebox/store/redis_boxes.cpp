// The owner waits for confirmations, and a box that stands by gives them and has its lease.
#include "middlebox/store/redis_boxes.hpp"

#include <hiredis/hiredis.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

#include "middlebox/store/limits.hpp"
#include "middlebox/store/store.hpp"
#include "simco/wire/number.hpp"

namespace simco::store {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Returns the owner's last batch, if that is `owner` and has not withdrawn it.
std::optional<std::uint64_t> batch_in(const redisReply* about, const redisReply* withdrawn,
                                      const std::string& owner) {
  if (about->elements < 2 || text_of(about->element[0]) != owner) return std::nullopt;
  const auto batch = parse_number<std::uint64_t>(text_of(about->element[1]), 0);
  if (!batch || withdrawn->type == REDIS_REPLY_NIL) return batch;
  const auto last = parse_number<std::uint64_t>(text_of(withdrawn), 0);
  return last && *last < *batch ? batch : std::nullopt;
}

/// The box of a member of the set, which is "BOX@OWNER".
std::string box_in(std::string_view member) {
  return std::string(member.substr(0, member.rfind('@')));
}

/// The machine's name, and something that makes it unique.
std::string box_name() {
  std::array<char, 65> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::uint32_t unique = 0;
  if (::getrandom(&unique, sizeof unique, 0) != sizeof unique) {
    throw StoreError("cannot get random numbers");
  }
  return std::string(host.data()) + "/" + std::to_string(unique);
}

}  // namespace

// --- The owner -----------------------------------------------------------------------------------

void Boxes::begin(const std::string& box) {
  ask();
  const auto boxes = redis_.next_or_error();  // the key may have another type
  note(boxes.get());
  std::erase_if(known_, [&](const std::string& member) {
    if (box_in(member) != box) return false;
    redis_.ask({"ZREM", redis_.key("boxes"), member});
    return true;
  });
}

void Boxes::ask() { redis_.send({"ZRANGE", redis_.key("boxes"), "0", "-1", "WITHSCORES"}); }

void Boxes::note(const redisReply* boxes) {
  for (std::size_t i = 0; i + 1 < boxes->elements; i += 2) {
    known_.insert(std::string(text_of(boxes->element[i])));
  }
}

// A box that Redis does not know any more, for it has lost something, may have a lease still.
std::set<std::string> Boxes::behind(const redisReply* boxes, std::uint64_t batch,
                                    std::string_view owner) {
  note(boxes);
  std::set<std::string> have;
  for (std::size_t i = 0; i + 1 < boxes->elements; i += 2) {
    const auto member = text_of(boxes->element[i]);
    const auto number = parse_number<std::uint64_t>(text_of(boxes->element[i + 1]), 0);
    // Two owners number their batches alike.
    if (number && *number >= batch && member.ends_with(owner)) have.insert(box_in(member));
  }
  auto missing = known_;
  std::erase_if(missing, [&](const std::string& member) { return have.contains(box_in(member)); });
  return missing;
}

void Boxes::await(const redisReply* boxes, std::uint64_t batch, std::string_view owner,
                  bool complete) {
  auto missing = behind(boxes, batch, owner);
  // Leases that are from before this batch are over then, and later ones are of boxes that have it.
  const Instant over = Clock::now() + kLease + kLeaseMargin;
  while (!missing.empty() || !complete) {
    const auto left = ceil<milliseconds>(over - Clock::now());
    if (left <= milliseconds()) break;
    await_any(left);
    ask();
    missing = behind(redis_.next().get(), batch, owner);
  }
  if (missing.empty()) return;
  const auto key = redis_.key("boxes");
  // Not one that has just confirmed it.
  redis_.ask({"ZREMRANGEBYSCORE", key, "-inf", "(" + std::to_string(batch)});
  std::set<std::string> named;
  for (const auto& member : missing) {
    // Of an earlier owner: the box will be in the set of the new one.
    if (!member.ends_with(owner)) redis_.ask({"ZREM", key, member});
    known_.erase(member);
    if (!named.insert(box_in(member)).second) continue;
    warnings_.push_back("box " + box_in(member) +
                        " has not confirmed a change in time: no packet passes there by rules "
                        "until it has caught up; check that box and the link to it");
  }
}

void Boxes::await_any(milliseconds patience) {
  const auto key = redis_.key("confirmed");
  // Its clock may have gone back with another start.
  if (connection_ != redis_.connections()) forget_confirmed();
  connection_ = redis_.connections();
  redis_.send({"XREAD", "BLOCK", std::to_string(patience.count()), "STREAMS", key, confirmed_});
  const auto streams = redis_.next_or_error();
  if (streams->type == REDIS_REPLY_NIL) return;
  if (streams->type == REDIS_REPLY_ERROR) {
    const std::string why(text_of(streams.get()));
    if (why.contains("instance state changed")) redis_.lose_place();
    if (!why.starts_with("WRONGTYPE")) redis_.lose(why);
    redis_.ask({"DEL", key});
    forget_confirmed();
    return;
  }
  const auto* const entries = streams->element[0]->element[1];
  confirmed_ = text_of(entries->element[entries->elements - 1]->element[0]);
}

void Boxes::await_end() { std::this_thread::sleep_for(kLease + kLeaseMargin); }

// --- A box that stands by ------------------------------------------------------------------------

Lease::Lease(RedisAddress copy) : address_(std::move(copy)), box_(box_name()) {}

void Lease::set_owner(const std::string& host, std::uint16_t port) {
  if (owner_ && address_.host == host && address_.port == port) return;
  address_.host = host;
  address_.port = port;
  owner_.emplace(address_, kLeasePatience);
  asked_at_ = {};
}

std::optional<Instant> Lease::renew(const Followed& followed) {
  const Instant now = Clock::now();
  if (joined_at_ && end() <= now) leave();
  const bool news = joined_at_ && failure_.empty() &&
                    (batch_ != followed.batch || member_ != box_ + "@" + followed.owner);
  if ((news || now >= asked_at_ + kLeaseRenewal) && now >= rejoin_at_) {
    asked_at_ = now;
    failure_.clear();
    try {
      ask(followed, now);
    } catch (const StoreTaken&) {
      failure_ = owner_->place() + ": is a replica itself";
    } catch (const StoreError& why) {
      failure_ = why.what();
    }
  }
  if (until_ > now) return until_;
  if (!failure_.empty()) throw StoreError(failure_);
  return std::nullopt;
}

void Lease::ask(const Followed& followed, Instant now) {
  if (!owner_->connected()) owner_->connect();
  if (until_ <= now && !is_close(followed)) return;
  const auto number = std::to_string(followed.batch);
  const auto member = box_ + "@" + followed.owner;
  batch_ = followed.batch;
  owner_->send({"MULTI"});
  owner_->send({"ZADD", owner_->key("boxes"), number, member});
  owner_->send({"XADD", owner_->key("confirmed"), "MAXLEN", "1", "*", "box", box_});
  owner_->send({"HMGET", owner_->key("about"), "owner", "batch", "shared"});
  owner_->send({"HGET", owner_->key("withdrawn"), followed.owner});
  // For another owner, which has claimed the same Redis since.
  if (member_ != member) owner_->send({"ZREM", owner_->key("boxes"), member_});
  owner_->send({"EXEC"});
  for (int queued = member_ == member ? 5 : 6; queued > 0; --queued) owner_->next();
  const auto done = owner_->next();
  const bool added = done->elements >= 4 && done->element[0]->type == REDIS_REPLY_INTEGER;
  if (!added) return;
  member_ = member;
  if (!joined_at_) joined_at_ = now;
  const auto* const about = done->element[2];
  const bool current = batch_in(about, done->element[3], followed.owner) == followed.batch;
  if (current && text_of(about->element[2]) == followed.owner) until_ = now + kLease;
}

/// The owner waits for a box in the set, so it must be able to catch up.
bool Lease::is_close(const Followed& followed) {
  owner_->send({"HMGET", owner_->key("about"), "owner", "batch"});
  owner_->send({"HGET", owner_->key("withdrawn"), followed.owner});
  const auto about = owner_->next();
  const auto batch = batch_in(about.get(), owner_->next_or_error().get(), followed.owner);
  return batch && *batch <= followed.batch + kBatchesKept;
}

Instant Lease::end() const {
  return until_ > *joined_at_ ? until_ : *joined_at_ + kFirstLeasePatience;
}

void Lease::leave() {
  const bool steady = until_ - *joined_at_ >= kSteady;
  pause_ = steady ? std::chrono::seconds()
                  : std::min(2 * pause_ + std::chrono::seconds(1), kRejoinPauseMax);
  rejoin_at_ = end() + pause_;
  joined_at_.reset();
}

}  // namespace simco::store
