// Rules in Redis or Valkey: one hash of rules, one of everything else.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <string>

#include "middlebox/store/store.hpp"

struct redisContext;
struct redisReply;

namespace simco::store {

/// What `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB][?name=NAME&replicas=N]` says.
struct RedisAddress {
  std::string host;
  std::uint16_t port = 6379;
  int database = 0;
  std::string user;
  std::string password;
  std::string name = "simco";  ///< keys begin with NAME:
  int replicas = 0;            ///< that must have a batch before it counts as kept
};
/// The address that `text` is, or a sentence that says why it is none.
std::expected<RedisAddress, std::string> parse_redis_address(const std::string& text);

class RedisStore final : public Store {
 public:
  /// Nothing is sent before open().
  explicit RedisStore(RedisAddress address) : address_(std::move(address)) {}
  ~RedisStore() override;

  std::string place() const override;
  /// Becomes the owner of the keys: from then on the process that owned them before cannot write.
  Contents open() override;
  /// Connects again where the connection was lost. With fewer than the wanted replicas the batch is
  /// kept and StoreError thrown.
  void write(const Batch& batch) override;

 private:
  struct Free {
    void operator()(redisContext* context) const;
    void operator()(redisReply* reply) const;
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  void connect();
  std::string key(const char* part) const { return address_.name + ":" + part; }
  /// Queues a command; its reply is read by next().
  void send(const std::vector<std::string>& words);
  Reply next();
  Reply ask(const std::vector<std::string>& words);
  /// Throws unless the keys are ours. Watches them.
  void require_ownership();
  [[noreturn]] void lose(const std::string& why);

  RedisAddress address_;
  std::unique_ptr<redisContext, Free> context_;
  std::string token_;  ///< by which the owner of the keys is known
};

}  // namespace simco::store
