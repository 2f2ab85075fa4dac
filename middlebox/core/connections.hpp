// All connections, from the first octet until their last request is decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "middlebox/commit/request_lines.hpp"
#include "middlebox/core/connection.hpp"
#include "middlebox/policy/engine.hpp"
#include "simco/net/crowd.hpp"
#include "simco/wire/instant.hpp"

namespace simco::middlebox {

/// The open sessions, by agent: sends rule events (RFC 4540 section 8.9) to those of agents that
/// may see the rule. Not thread-safe.
class Notifier {
 public:
  /// `engine` decides which agents may see a rule; it must outlive this.
  explicit Notifier(const policy::PolicyEngine& engine) : engine_(engine) {}

  /// Adds a session that was opened.
  void add(Requester& session);
  /// Removes a session that ended.
  void remove(Requester& session);
  /// Returns the number of open sessions, of all agents or of one.
  std::size_t count() const { return count_; }
  std::size_t count(rule::AgentId agent) const { return sessions_of(agent).size(); }

  /// Returns the number of sessions that may see rules of `owner`.
  std::size_t audience(rule::AgentId owner) const;

  /// Notifies all sessions that may see the rule, except `cause`, which gets the reply instead.
  void notify(const policy::RuleEvent& event, const Requester* cause) const;

 private:
  using Sessions = std::vector<Requester*>;

  /// Returns those of an agent.
  std::span<Requester* const> sessions_of(rule::AgentId agent) const {
    if (agent.value >= sessions_.size()) return {};
    return sessions_[agent.value];
  }
  void notify_agent(rule::AgentId agent, const policy::RuleEvent& event,
                    const Requester* cause) const;

  const policy::PolicyEngine& engine_;
  std::vector<Sessions> sessions_;  ///< by agent: the numbers of those that are there are small
  std::size_t count_ = 0;
};

/// When connections want to be woken: at most one time for each, by its number.
class WakeTimes {
 public:
  /// Only moves a time earlier: waking up too soon is harmless.
  void add(std::uint64_t number, Instant at) {
    const auto [wish, is_new] = wishes_.try_emplace(number, at);
    if (!is_new && wish->second <= at) return;
    if (!is_new) order_.erase({wish->second, number});
    wish->second = at;
    order_.emplace(at, number);
  }
  /// Nothing happens if there is none.
  void remove(std::uint64_t number) {
    const auto wish = wishes_.extract(number);
    if (wish) order_.erase({wish.mapped(), number});
  }
  std::optional<Instant> next() const {
    return order_.empty() ? std::nullopt : std::optional(order_.begin()->first);
  }
  /// Returns a connection whose time has come, and removes that time.
  std::optional<std::uint64_t> take_due(Instant now) {
    if (order_.empty() || order_.begin()->first > now) return std::nullopt;
    const auto number = order_.begin()->second;
    remove(number);
    return number;
  }

 private:
  std::unordered_map<std::uint64_t, Instant> wishes_;
  std::set<std::pair<Instant, std::uint64_t>> order_;
};

/// Connections without a session: however many there are, a newcomer gets in. Those over transports
/// whose connections are costly are counted apart.
class Guests {
 public:
  /// See kGuestsMax and kAssociationGuestsMax.
  Guests(std::size_t max, std::size_t associations_max)
      : streams_(max), associations_(associations_max) {}

  /// Returns the guest that must go instead, if any: it has left.
  std::optional<Connection*> enter(Connection& guest) {
    return like(guest).enter(guest.candidate().address, &guest);
  }
  /// Nothing happens if it is not there.
  void leave(Connection& guest) { like(guest).leave(&guest); }

 private:
  using Crowd = net::Crowd<Connection*>;

  Crowd& like(const Connection& guest) { return guest.costly() ? associations_ : streams_; }

  Crowd streams_;
  Crowd associations_;
};

/// By their numbers, so that loops over all connections have the same order in every run.
class Connections {
 public:
  /// `engine` must outlive this.
  explicit Connections(policy::PolicyEngine& engine) : engine_(engine) {}

  std::size_t size() const { return connections_.size(); }
  /// Creates a connection with the next number and these further arguments.
  template <class... Arguments>
  Connection& make(Arguments&&... arguments) {
    const auto number = ++made_;
    auto& entry = connections_[number];
    entry.connection = std::make_unique<Connection>(number, std::forward<Arguments>(arguments)...);
    return *entry.connection;
  }
  Connection& operator[](std::uint64_t number) { return *connections_.at(number).connection; }
  template <class Visit>
  void for_each(Visit visit) {
    for (const auto& [number, entry] : connections_) visit(*entry.connection);
  }

  // --- Output ---

  void flush_later(Connection& connection) { to_flush_.push_back(&connection); }
  void flush();

  // --- Sessions that become too old ---

  /// Its session has opened.
  void note_opened(const Connection& connection);
  void begin_age_checks(Instant now);
  std::optional<Instant> next_age_check() const { return check_ages_at_; }
  /// Ends the sessions that could see one PID with two meanings.
  void check_ages(Instant now);

  // --- The end ---

  /// It may be destroyed when no turn is in progress.
  void note_over(Connection& connection) { over_.push_back(&connection); }
  bool can_reap() const;
  /// Destroys connections that have ended and have no request in progress.
  void reap();

 private:
  struct Entry {
    std::unique_ptr<Connection> connection;
    std::uint64_t opened_at = 0;  ///< PolicyEngine::id_position() when the session opened
  };

  policy::PolicyEngine& engine_;
  std::unordered_map<std::uint64_t, Entry> connections_;
  std::uint64_t made_ = 0;
  std::vector<Connection*> to_flush_;
  std::vector<Connection*> over_;
  std::optional<Instant> check_ages_at_;
};

}  // namespace simco::middlebox
