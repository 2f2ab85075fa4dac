#include "middlebox/store/redis_store.hpp"

namespace simco::store {

Contents RedisStore::open() {
  const bool copy = is_copy();
  const auto about = read_about();
  if (!copy) owner_.claim(about, follower_.box());
  auto all = follower_.read_all();
  if (!copy) owner_.begin(follower_.position());
  return {std::move(all.entries), all.counters, !copy};
}

Changes RedisStore::follow() {
  const bool copy = is_copy();
  const auto about = read_about();
  if (!copy) owner_.claim(about, follower_.box());
  Changes changes{follower_.read_changes(about, copy), !copy, follower_.current()};
  if (!copy) owner_.begin(follower_.position());
  return changes;
}

void RedisStore::verify() {
  if (is_copy()) {
    redis_.close();
    throw StoreTaken(place() + ": this Redis has become a replica");
  }
  owner_.verify();
}

About RedisStore::read_about() {
  ask_about(redis_);
  return about_in(redis_, redis_.next().get());
}

}  // namespace simco::store
