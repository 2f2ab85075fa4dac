// The sessions, and the AREs that each of them should have got.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "simco/wire/ids.hpp"

namespace simco::simulator {

/// A session as its agent knows it.
struct Session {
  std::string who;
  bool auditor = false;
  bool genuine = true;     ///< its agent can authenticate
  bool refusable = false;  ///< its agent was not configured at some time since it connected
  bool open = false;
  bool closed = false;  ///< by the middlebox, or it knows
  bool over = false;
  bool cut = false;      ///< its path has broken
  bool leaving = false;  ///< ending, so that it need not be told of events any more
  std::set<std::uint32_t> in_flight = {};
  /// AREs that it should have heard, less those that it has.
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> unheard = {};
};

class Audience {
 public:
  void add(std::uint32_t number, Session session) { sessions_[number] = std::move(session); }
  Session& at(std::uint32_t number) { return sessions_.at(number); }
  const Session& at(std::uint32_t number) const { return sessions_.at(number); }
  std::map<std::uint32_t, Session>& all() { return sessions_; }
  const std::map<std::uint32_t, Session>& all() const { return sessions_; }

  /// A rule of `owner` has changed: all that may see it must hear of it, except `cause`.
  void expect(std::uint32_t pid, std::uint32_t lifetime, const std::string& owner,
              std::uint32_t cause);
  void heard(std::uint32_t number, std::uint32_t pid, std::uint32_t lifetime) {
    --sessions_.at(number).unheard[{pid, lifetime}];
  }
  /// The turn is over: all must have got their AREs.
  void check();
  /// An orderly stop is over: every session that was open must have been told.
  void check_stopped() const;

 private:
  std::map<std::uint32_t, Session> sessions_;
};

}  // namespace simco::simulator
