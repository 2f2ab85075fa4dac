// Rules in Redis or Valkey: a hash for rules, another for everything else.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "middlebox/store/store.hpp"

struct redisContext;
struct redisReply;

namespace simco::store {

/// The parts of `redis://[USER[:PASSWORD]@]HOST[:PORT][/DB][?name=NAME&replicas=N]`.
struct RedisAddress {
  std::string host;
  std::uint16_t port = 6379;
  int database = 0;
  std::string user;
  std::string password;
  std::string name = "simco";  ///< prefix of the keys, before ":"
  int replicas = 0;            ///< that must confirm a batch before it counts as stored
};
/// Parses `text`. Returns an error message if it is invalid.
std::expected<RedisAddress, std::string> parse_redis_address(const std::string& text);

/// Blocks for at most kPatience per operation. One thread at a time.
class RedisStore final : public Store {
 public:
  /// Nothing is sent before open().
  explicit RedisStore(RedisAddress address) : address_(std::move(address)) {}
  ~RedisStore() override;

  std::string place() const override;
  /// Becomes the owner of the keys: the previous owner cannot write any longer.
  Contents open() override;
  /// Reconnects if the connection was lost. If fewer replicas than required confirm the batch, it
  /// is stored, but StoreError is thrown.
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
  /// The reply may also be an error of that command.
  Reply next_or_error();
  Reply ask(const std::vector<std::string>& words);
  /// Throws unless the keys are ours and as we left them, which does not matter if `all` will be
  /// written. Watches them.
  void require_ownership(bool all);
  [[noreturn]] void lose(const std::string& why);

  RedisAddress address_;
  std::unique_ptr<redisContext, Free> context_;
  std::string token_;  ///< identifies the owner of the keys
  // Batches are numbered. A batch whose connection was lost may be stored or not.
  std::uint64_t tried_ = 0;   ///< the last batch
  std::uint64_t stored_ = 0;  ///< the last batch that was acknowledged
  std::int64_t rules_ = 0;    ///< least number of rules in Redis
};

}  // namespace simco::store
