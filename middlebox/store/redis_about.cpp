#include "middlebox/store/redis_about.hpp"

#include <hiredis/hiredis.h>

#include "simco/wire/number.hpp"

namespace simco::store {

void ask_about(RedisConnection& redis) {
  redis.send({"HMGET", redis.key("about"), "schema", "owner", "batch", "next_pid", "next_gid",
              "earlier", "claimed"});
}

About about_in(RedisConnection& redis, const redisReply* reply) {
  if (reply->type == REDIS_REPLY_ERROR) redis.lose(std::string(text_of(reply)));
  const auto* const* fields = reply->element;
  About about;
  const auto number = [&](std::size_t field, const char* name, auto& value) {
    if (fields[field]->type == REDIS_REPLY_NIL) return;
    const auto parsed = parse_number<std::uint64_t>(text_of(fields[field]), 0);
    if (!parsed) redis.lose(std::string("the value of ") + name + " is not a number");
    value = *parsed;
  };
  if (fields[0]->type != REDIS_REPLY_NIL && text_of(fields[0]) != kKeysVersion) {
    redis.lose("written by another version of simco-middlebox (schema " +
               std::string(text_of(fields[0])) + ", this version supports " + kKeysVersion +
               "): run that version or use another name");
  }
  about.owner = text_of(fields[1]);
  number(2, "batch", about.batch);
  number(3, "next_pid", about.counters.next_pid);
  number(4, "next_gid", about.counters.next_gid);
  about.earlier = text_of(fields[5]);
  number(6, "claimed", about.claimed);
  return about;
}

}  // namespace simco::store
