// Speaks to Redis by pipelined commands. Each batch is a transaction (WATCH, MULTI, EXEC) that
// fails if another process has become the owner of the keys.
#include "middlebox/store/redis_store.hpp"

#include <fmt/ranges.h>
#include <hiredis/hiredis.h>
#include <sys/random.h>
#include <sys/time.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "middlebox/store/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::store {
namespace {

/// Version of the keys and their contents.
constexpr const char* kKeysVersion = "1";
constexpr timeval kReplyTime{kRedisPatience.count(), 0};
constexpr auto kReplicaWaitMs = std::chrono::milliseconds(kReplicaPatience).count();

std::string_view text_of(const redisReply* reply) {
  return reply->str == nullptr ? std::string_view() : std::string_view(reply->str, reply->len);
}

/// Splits `text` at the first `mark`. Returns the part before it (all of `text` without a mark);
/// `text` becomes the rest.
std::string_view take_until(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return head;
}

std::string random_token() {
  std::array<unsigned char, 16> octets{};
  if (::getrandom(octets.data(), octets.size(), 0) != static_cast<ssize_t>(octets.size())) {
    throw StoreError("cannot get random numbers");
  }
  return fmt::format("{:02x}", fmt::join(octets, ""));
}

std::optional<std::string> read_setting(std::string_view setting, RedisAddress& address) {
  const auto name = take_until(setting, '=');
  if (name == "name" && !setting.empty()) {
    address.name = setting;
    return std::nullopt;
  }
  if (name == "replicas") {
    const auto replicas = parse_number(setting, 0, 100);
    if (replicas) address.replicas = *replicas;
    if (replicas) return std::nullopt;
  }
  return "expected name=NAME or replicas=N, got '" + std::string(name) + "'";
}

}  // namespace

std::expected<RedisAddress, std::string> parse_redis_address(const std::string& text) {
  constexpr std::string_view kScheme = "redis://";
  std::string_view rest = text;
  if (!rest.starts_with(kScheme)) return std::unexpected("must begin with redis://");
  rest.remove_prefix(kScheme.size());
  RedisAddress address;
  std::string_view settings = rest;
  rest = take_until(settings, '?');
  std::string_view path = rest;
  rest = take_until(path, '/');
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    std::string_view password = rest.substr(0, at);
    address.user = take_until(password, ':');
    address.password = password;
    rest.remove_prefix(at + 1);
  }
  std::string_view port;
  if (rest.starts_with('[') && rest.find(']') != std::string_view::npos) {
    port = rest.substr(rest.find(']') + 1);
    address.host = rest.substr(1, rest.find(']') - 1);
    if (!port.empty() && port.front() == ':') port.remove_prefix(1);
  } else {
    port = rest;
    address.host = take_until(port, ':');
  }
  if (address.host.empty()) return std::unexpected("missing host");
  if (!port.empty()) {
    const auto number = parse_number<std::uint16_t>(port, 1);
    if (!number) {
      return std::unexpected("expected a port from 1 to 65535, got '" + std::string(port) + "'");
    }
    address.port = *number;
  }
  if (!path.empty()) {
    const auto number = parse_number(path, 0, 1 << 20);
    if (!number) {
      return std::unexpected("expected a database number, got '" + std::string(path) + "'");
    }
    address.database = *number;
  }
  while (!settings.empty()) {
    if (const auto fault = read_setting(take_until(settings, '&'), address)) {
      return std::unexpected(*fault);
    }
  }
  return address;
}

void RedisStore::Free::operator()(redisContext* context) const { redisFree(context); }
void RedisStore::Free::operator()(redisReply* reply) const { freeReplyObject(reply); }

RedisStore::~RedisStore() = default;

std::string RedisStore::place() const {
  return "redis://" + address_.host + ":" + std::to_string(address_.port) + "/" +
         std::to_string(address_.database) + "?name=" + address_.name;
}

void RedisStore::lose(const std::string& why) {
  context_.reset();
  throw StoreError(place() + ": " + why);
}

void RedisStore::send(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> sizes;
  for (const auto& word : words) {
    pointers.push_back(word.data());
    sizes.push_back(word.size());
  }
  if (redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), pointers.data(),
                             sizes.data()) != REDIS_OK) {
    lose(context_->errstr);
  }
}

RedisStore::Reply RedisStore::next_or_error() {
  void* raw = nullptr;
  if (redisGetReply(context_.get(), &raw) != REDIS_OK) lose(context_->errstr);
  return Reply(static_cast<redisReply*>(raw));
}

RedisStore::Reply RedisStore::next() {
  Reply reply = next_or_error();
  // With more replies on their way, the connection could not be used again.
  if (reply->type == REDIS_REPLY_ERROR) lose(std::string(text_of(reply.get())));
  return reply;
}

RedisStore::Reply RedisStore::ask(const std::vector<std::string>& words) {
  send(words);
  return next();
}

void RedisStore::connect() {
  context_.reset(redisConnectWithTimeout(address_.host.c_str(), address_.port, kReplyTime));
  if (!context_) throw StoreError("out of memory");
  if (context_->err != 0) lose(context_->errstr);
  redisSetTimeout(context_.get(), kReplyTime);
  redisEnableKeepAlive(context_.get());
  if (!address_.user.empty() && !address_.password.empty()) {
    ask({"AUTH", address_.user, address_.password});
  } else if (!address_.user.empty() || !address_.password.empty()) {
    ask({"AUTH", address_.user + address_.password});
  }
  if (address_.database != 0) ask({"SELECT", std::to_string(address_.database)});
}

Contents RedisStore::open() {
  connect();
  const auto schema = ask({"HGET", key("about"), "schema"});
  if (schema->type != REDIS_REPLY_NIL && text_of(schema.get()) != kKeysVersion) {
    lose("written by another version of simco-middlebox (schema " +
         std::string(text_of(schema.get())) + ", this version supports " + kKeysVersion +
         "): run that version or use another name");
  }
  token_ = random_token();
  ask({"HSET", key("about"), "schema", kKeysVersion, "owner", token_});
  Contents contents;
  const auto number = [&](const char* field, std::uint64_t& value) {
    const auto reply = ask({"HGET", key("about"), field});
    if (reply->type == REDIS_REPLY_NIL) return;
    const auto parsed = parse_number<std::uint64_t>(text_of(reply.get()), 1);
    if (!parsed) lose(std::string("the value of ") + field + " is not a number");
    value = *parsed;
  };
  number("next_pid", contents.counters.next_pid);
  number("next_gid", contents.counters.next_gid);
  number("batch", stored_);
  tried_ = stored_;
  const auto all = ask({"HGETALL", key("rules")});
  for (std::size_t i = 0; i + 1 < all->elements; i += 2) {
    const auto name = text_of(all->element[i]);
    const auto pid = parse_number<std::uint32_t>(name, 1);
    if (!pid) lose("expected a PID as field name, got '" + std::string(name) + "'");
    contents.entries.push_back({PolicyRuleId{*pid}, std::string(text_of(all->element[i + 1]))});
  }
  rules_ = static_cast<std::int64_t>(contents.entries.size());
  return contents;
}

void RedisStore::require_ownership(bool all) {
  send({"WATCH", key("about"), key("rules")});
  send({"HMGET", key("about"), "owner", "batch"});
  send({"HLEN", key("rules")});
  next();
  const auto about = next_or_error();
  const auto rules = next_or_error();  // fails if the key has another type
  if (about->type == REDIS_REPLY_ERROR) lose(std::string(text_of(about.get())));
  const auto owner = text_of(about->element[0]);
  const bool emptied = about->element[0]->type == REDIS_REPLY_NIL;
  if (!emptied && owner != token_) {
    context_.reset();
    throw StoreTaken(place() +
                     ": another middlebox has taken over these rules; this process must stop");
  }
  if (all) return;
  const auto batch = text_of(about->element[1]);
  const bool earlier = stored_ != 0 && !parse_number<std::uint64_t>(batch, stored_);
  const bool evicted = rules->type != REDIS_REPLY_INTEGER || rules->integer < rules_;
  if (!emptied && !earlier && !evicted) return;
  context_.reset();
  throw StoreLost(place() +
                  (emptied   ? ": the rules are gone"
                   : earlier ? ": Redis has gone back to an earlier state"
                             : ": Redis has lost rules") +
                  "; writing them all again");
}

void RedisStore::write(const Batch& batch) {
  if (!context_) connect();
  require_ownership(batch.all);
  const auto rules = key("rules");
  std::size_t queued = 0;
  const auto queue = [&](const std::vector<std::string>& words) {
    send(words);
    ++queued;
  };
  queue({"MULTI"});
  if (batch.all) queue({"DEL", rules});
  for (const auto& [pid, octets] : batch.entries) {
    if (octets.empty()) {
      queue({"HDEL", rules, std::to_string(pid.value)});
    } else {
      queue({"HSET", rules, std::to_string(pid.value), octets});
    }
  }
  queue({"HSET", key("about"), "schema", kKeysVersion, "owner", token_, "batch",
         std::to_string(++tried_), "next_pid", std::to_string(batch.counters.next_pid), "next_gid",
         std::to_string(batch.counters.next_gid)});
  queue({"HLEN", rules});
  send({"EXEC"});
  const auto before = std::exchange(rules_, 0);  // unless we learn more
  for (; queued > 0; --queued) next();
  const auto done = next();
  if (done->type == REDIS_REPLY_NIL) {
    rules_ = before;
    require_ownership(batch.all);  // Another middlebox may have been that client.
    lose("another client changed the keys meanwhile");
  }
  // Redis carries out the other commands although a command fails.
  for (std::size_t i = 0; i < done->elements; ++i) {
    if (done->element[i]->type != REDIS_REPLY_ERROR) continue;
    context_.reset();
    throw StoreLost(place() + ": " + std::string(text_of(done->element[i])) +
                    "; writing all rules again");
  }
  rules_ = done->element[done->elements - 1]->integer;
  stored_ = tried_;
  if (address_.replicas == 0) return;
  const auto have =
      ask({"WAIT", std::to_string(address_.replicas), std::to_string(kReplicaWaitMs)});
  if (have->integer < address_.replicas) {
    throw StoreError(place() + ": " + std::to_string(have->integer) + " of " +
                     std::to_string(address_.replicas) + " replicas confirmed the write");
  }
}

}  // namespace simco::store
