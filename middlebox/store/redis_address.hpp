// Where rules are in Redis or Valkey, as --state names it.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

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

}  // namespace simco::store
