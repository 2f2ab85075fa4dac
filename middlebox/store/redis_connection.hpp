// A connection to Redis or Valkey: commands go out, replies come back in their order.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/store/limits.hpp"
#include "middlebox/store/redis_address.hpp"

struct redisContext;
struct redisReply;

namespace simco::store {

/// Returns the text of `reply`; empty if it has none.
std::string_view text_of(const redisReply* reply);

/// Blocks for at most its patience per operation. Every operation that fails closes the
/// connection and throws StoreError, or StoreTaken if the server has become a copy of another one.
/// One thread at a time.
class RedisConnection {
 public:
  struct Free {
    void operator()(redisContext* context) const;
    void operator()(redisReply* reply) const;
  };
  using Reply = std::unique_ptr<redisReply, Free>;
  using Words = std::vector<std::string>;

  /// Nothing is sent before connect().
  explicit RedisConnection(RedisAddress address,
                           std::chrono::milliseconds patience = kRedisPatience)
      : address_(std::move(address)), patience_(patience) {}

  const RedisAddress& address() const { return address_; }
  /// Returns the key of this part of the store: "NAME:rules".
  std::string key(const char* part) const { return address_.name + ":" + part; }
  /// Returns the address without passwords, for messages.
  std::string place() const;

  bool connected() const { return context_ != nullptr; }
  void connect();
  /// How often it was connected.
  unsigned connections() const { return connections_; }
  void close() { context_.reset(); }
  /// Queues a command; its reply is read by next().
  void send(const Words& words);
  Reply next();
  /// The reply may also be an error of that command.
  Reply next_or_error();
  Reply ask(const Words& words) {
    send(words);
    return next();
  }
  /// Closes the connection and throws StoreError.
  [[noreturn]] void lose(const std::string& why);
  /// The server has become a replica: closes the connection and throws StoreTaken.
  [[noreturn]] void lose_place();

 private:
  RedisAddress address_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<redisContext, Free> context_;
  unsigned connections_ = 0;
};

}  // namespace simco::store
