// All connections, from the first octet until their last request is decided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "middlebox/core/connection.hpp"
#include "middlebox/policy/engine.hpp"

namespace simco::middlebox {

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
