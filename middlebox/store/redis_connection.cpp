#include "middlebox/store/redis_connection.hpp"

#include <hiredis/hiredis.h>
#include <sys/time.h>

#include "middlebox/store/store.hpp"

namespace simco::store {
std::string_view text_of(const redisReply* reply) {
  return reply->str == nullptr ? std::string_view() : std::string_view(reply->str, reply->len);
}

void RedisConnection::Free::operator()(redisContext* context) const { redisFree(context); }
void RedisConnection::Free::operator()(redisReply* reply) const { freeReplyObject(reply); }

std::string RedisConnection::place() const {
  return "redis://" + address_.host + ":" + std::to_string(address_.port) + "/" +
         std::to_string(address_.database) + "?name=" + address_.name;
}

void RedisConnection::lose(const std::string& why) {
  close();
  throw StoreError(place() + ": " + why);
}

void RedisConnection::send(const Words& words) {
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

RedisConnection::Reply RedisConnection::next_or_error() {
  void* raw = nullptr;
  if (redisGetReply(context_.get(), &raw) != REDIS_OK) lose(context_->errstr);
  return Reply(static_cast<redisReply*>(raw));
}

RedisConnection::Reply RedisConnection::next() {
  Reply reply = next_or_error();
  if (reply->type != REDIS_REPLY_ERROR) return reply;
  const std::string why(text_of(reply.get()));
  // With more replies on their way, the connection could not be used again.
  if (!why.starts_with("READONLY")) lose(why);
  lose_place();
}

void RedisConnection::lose_place() {
  close();
  throw StoreTaken(place() +
                   ": this Redis has become a replica; its rules are another "
                   "middlebox's, and this process must stop");
}

void RedisConnection::connect() {
  const timeval patience{patience_.count() / 1000, patience_.count() % 1000 * 1000};
  context_.reset(redisConnectWithTimeout(address_.host.c_str(), address_.port, patience));
  if (!context_) throw StoreError("out of memory");
  if (context_->err != 0) lose(context_->errstr);
  redisSetTimeout(context_.get(), patience);
  redisEnableKeepAlive(context_.get());
  ++connections_;
  if (!address_.user.empty() && !address_.password.empty()) {
    ask({"AUTH", address_.user, address_.password});
  } else if (!address_.user.empty() || !address_.password.empty()) {
    ask({"AUTH", address_.user + address_.password});
  }
  if (address_.database != 0) ask({"SELECT", std::to_string(address_.database)});
}

}  // namespace simco::store
