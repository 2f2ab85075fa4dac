// The owner waits for confirmations, and a box that stands by gives them and has its lease.
#include "middlebox/store/redis_boxes.hpp"

#include <hiredis/hiredis.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <thread>

#include "middlebox/store/limits.hpp"
#include "middlebox/store/store.hpp"
#include "simco/wire/number.hpp"

namespace simco::store {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// A box's question is "TOKEN BATCH NUMBER", with the owner's token; the answer is "TOKEN NUMBER".
std::string words(const std::string& owner, std::initializer_list<std::uint64_t> numbers) {
  std::string all = owner;
  for (const auto number : numbers) all += " " + std::to_string(number);
  return all;
}

/// Takes the last word of `text`, which is a number.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const auto space = text.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(text.substr(space + 1), 0);
  text = text.substr(0, space);
  return number;
}

/// Returns the owner's last batch, if that is `owner`.
std::optional<std::uint64_t> batch_in(const redisReply* about, const std::string& owner) {
  if (about->elements < 2 || text_of(about->element[0]) != owner) return std::nullopt;
  return parse_number<std::uint64_t>(text_of(about->element[1]), 0);
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

void Boxes::begin(const std::string& owner, const std::string& box) {
  owner_ = owner;
  redis_.send({"HDEL", redis_.key("answers"), box});
  redis_.send({"HDEL", redis_.key("questions"), box});
  redis_.send({"HKEYS", redis_.key("questions")});
  redis_.next_or_error();  // the keys may have another type
  redis_.next_or_error();
  const auto questions = redis_.next_or_error();
  const Instant now = Clock::now();
  for (std::size_t i = 0; i < questions->elements; ++i) {
    known_[std::string(text_of(questions->element[i]))].read_at = now;
  }
}

std::size_t Boxes::ask() {
  RedisConnection::Words answers{"HSET", redis_.key("answers")};
  for (auto& [name, box] : known_) {
    if (std::exchange(box.answered, true)) continue;
    answers.insert(answers.end(), {name, words(owner_, {box.number})});
  }
  const bool any = answers.size() > 2;
  if (any) redis_.send(answers);
  redis_.send({"HGETALL", redis_.key("questions")});
  return any ? 2 : 1;
}

void Boxes::note(const redisReply* questions) {
  const Instant now = Clock::now();
  for (std::size_t i = 0; i + 1 < questions->elements; i += 2) {
    auto question = text_of(questions->element[i + 1]);
    const auto number = take_number(question);
    const auto batch = take_number(question);
    if (!number || !batch || question != owner_) continue;
    auto& box = known_[std::string(text_of(questions->element[i]))];
    if (box.number != *number) box = {*batch, *number, now, false};
  }
}

void Boxes::look() {
  for (auto queued = ask(); queued > 1; --queued) redis_.next();
  note(redis_.next_or_error().get());
}

// An answer to any question.
void Boxes::leave() {
  for (const auto& [name, box] : known_) {
    redis_.ask({"HSET", redis_.key("answers"), name, words(owner_, {0})});
  }
}

// A box that has asked with an earlier batch has no lease that began after this one was stored.
Instant Boxes::end(const Box& box, Instant stored_at) {
  return std::min(box.read_at, stored_at) + kLease + kLeaseMargin;
}

void Boxes::await(std::uint64_t stored) {
  const Instant stored_at = Clock::now();
  for (;;) {
    Instant last{};
    for (const auto& [name, box] : known_) {
      if (box.batch < stored) last = std::max(last, end(box, stored_at));
    }
    const auto left = ceil<milliseconds>(last - Clock::now());
    if (left <= milliseconds()) break;
    await_any(left);
    look();
  }
  std::vector<std::string> behind;
  for (const auto& [name, box] : known_) {
    if (box.batch < stored) behind.push_back(name);
  }
  for (const auto& name : behind) forget(name);
}

void Boxes::forget(const std::string& name) {
  redis_.ask({"HDEL", redis_.key("questions"), name});
  redis_.ask({"HDEL", redis_.key("answers"), name});
  known_.erase(name);
  warnings_.push_back("box " + name +
                      " has not confirmed a change in time: no packet passes there by rules "
                      "until it has caught up; check that box and the link to it");
}

void Boxes::await_end() const {
  Instant last{};
  for (const auto& [name, box] : known_) last = std::max(last, end(box));
  std::this_thread::sleep_until(last);
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

// --- A box that stands by ------------------------------------------------------------------------

Lease::Lease(RedisAddress copy) : address_(std::move(copy)), box_(box_name()) {}

void Lease::set_owner(const std::string& host, std::uint16_t port) {
  if (owner_ && address_.host == host && address_.port == port) return;
  address_.host = host;
  address_.port = port;
  owner_.emplace(address_, kLeasePatience);
  tried_at_ = {};
}

std::optional<Instant> Lease::renew(const Followed& followed) {
  const Instant now = Clock::now();
  const bool news = failure_.empty() && asked_ != followed;
  if ((news || now >= tried_at_ + kLeaseRenewal) && now >= rejoin_at_) {
    tried_at_ = now;
    failure_.clear();
    try {
      ask(followed, now);
    } catch (const StoreTaken&) {
      failure_ = owner_->place() + ": is a replica itself";
    } catch (const StoreError& why) {
      failure_ = why.what();
    }
  }
  if (joined_at_ && end() <= now) leave();
  if (until_ > now) return until_;
  if (!failure_.empty()) throw StoreError(failure_);
  return std::nullopt;
}

void Lease::ask(const Followed& followed, Instant now) {
  if (!owner_->connected()) owner_->connect();
  if (until_ <= now && !is_close(followed)) return;
  asked_ = followed;
  asked_at_[++number_] = now;
  std::erase_if(asked_at_, [&](const auto& question) { return question.second + kLease <= now; });
  owner_->send({"MULTI"});
  owner_->send(
      {"HSET", owner_->key("questions"), box_, words(followed.owner, {followed.batch, number_})});
  owner_->send({"XADD", owner_->key("confirmed"), "MAXLEN", "1", "*", "box", box_});
  owner_->send({"HMGET", owner_->key("about"), "owner", "batch"});
  owner_->send({"HGET", owner_->key("answers"), box_});
  owner_->send({"EXEC"});
  for (int queued = 5; queued > 0; --queued) owner_->next();
  const auto done = owner_->next();
  if (done->elements < 4 || done->element[0]->type != REDIS_REPLY_INTEGER) return;
  const auto from = answered(text_of(done->element[3]), followed.owner, now);
  if (!from) return;
  if (!joined_at_) joined_at_ = now;
  const bool current = batch_in(done->element[2], followed.owner) == followed.batch;
  if (current) until_ = std::max(until_, *from + kLease);
}

/// The owner waits for a box with a lease, so it must be able to catch up.
bool Lease::is_close(const Followed& followed) {
  const auto about = owner_->ask({"HMGET", owner_->key("about"), "owner", "batch"});
  const auto batch = batch_in(about.get(), followed.owner);
  return batch && *batch <= followed.batch + kBatchesKept;
}

std::optional<Instant> Lease::answered(std::string_view answer, const std::string& owner,
                                       Instant now) const {
  const auto number = take_number(answer);
  if (!number || answer != owner) return std::nullopt;
  // Of an owner that has left: it goes for a lease that has never ended, as another owner may have
  // been there since, whose state Redis has lost.
  if (*number == 0 && until_ <= now) return std::nullopt;
  const auto asked = asked_at_.find(*number == 0 ? number_ : *number);
  if (asked == asked_at_.end()) return std::nullopt;
  return asked->second;
}

void Lease::end_now() {
  until_ = {};
  asked_at_.clear();
  if (joined_at_) joined_at_ = Clock::now();
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
