#include "agent/ng/protocol/reply_cache.hpp"

#include "agent/ng/protocol/limits.hpp"

namespace simco::ng {

std::string ReplyCache::key_of(std::string_view source, std::string_view cookie) {
  // A source has no space.
  return std::string(source) + ' ' + std::string(cookie);
}

ReplyCache::Found ReplyCache::look_up(std::string_view source, std::string_view cookie,
                                      Instant now) {
  drop_old(now);
  const auto [at, is_new] = replies_.try_emplace(key_of(source, cookie));
  if (is_new) return {State::kNew, {}};
  if (!at->second) return {State::kUnderWay, {}};
  return {State::kReplied, *at->second};
}

void ReplyCache::keep(std::string_view source, std::string_view cookie, std::string reply,
                      Instant now) {
  auto key = key_of(source, cookie);
  octets_ += reply.size();
  replies_[key] = std::move(reply);
  kept_.push_back({std::move(key), now + kRepliesKeptFor});
  drop_old(now);
}

void ReplyCache::drop_old(Instant now) {
  while (!kept_.empty() && (kept_.front().until <= now || octets_ > kRepliesOctetsMax)) {
    const auto found = replies_.find(kept_.front().key);
    octets_ -= found->second->size();
    replies_.erase(found);
    kept_.pop_front();
  }
}

}  // namespace simco::ng
