// Replies, kept for repetitions of their requests: proxies repeat a request with the same cookie
// until its reply arrives. Cookies are unique for a sender only, and may recur after its restart.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "simco/wire/instant.hpp"

namespace simco::ng {

/// No I/O, no clock: `now` must not go back.
class ReplyCache {
 public:
  /// The state of a request.
  enum class State : std::uint8_t {
    kNew,       ///< from now on, it is under way
    kUnderWay,  ///< its reply will follow
    kReplied,
  };
  struct Found {
    State state = State::kNew;
    std::string_view reply;  ///< kReplied; valid until the next call
  };

  /// Looks for the request with `cookie` from `source`.
  Found look_up(std::string_view source, std::string_view cookie, Instant now);
  /// Keeps the reply to a request for kRepliesKeptFor.
  void keep(std::string_view source, std::string_view cookie, std::string reply, Instant now);

  std::size_t octets() const { return octets_; }

 private:
  struct Kept {
    std::string key;
    Instant until;
  };
  static std::string key_of(std::string_view source, std::string_view cookie);
  void drop_old(Instant now);

  std::unordered_map<std::string, std::optional<std::string>> replies_;  ///< nullopt: under way
  std::deque<Kept> kept_;                                                ///< oldest first
  std::size_t octets_ = 0;                                               ///< of replies
};

}  // namespace simco::ng
