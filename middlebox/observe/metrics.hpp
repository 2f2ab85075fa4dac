// The metrics of the middlebox, for Prometheus (exposition format 0.0.4). Label values come from
// fixed sets, never from peers.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "middlebox/backend/backend.hpp"
#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/nat.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/messages.hpp"

namespace simco::middlebox {

/// Parts of the time that a transaction spends in the middlebox.
enum class Phase : std::uint8_t {
  kDecide,  ///< in the policy engine
  kQueue,   ///< decided, waiting for the previous batch
  kStore,   ///< until the batch is stored
  kKernel,  ///< with the backend
  kReply,   ///< from then, or from the decision, until the reply is handed to the transport
};
inline constexpr std::size_t kPhases = 5;

/// Counters, gauges and histograms.
class Metrics {
 public:
  using Clock = std::chrono::steady_clock;

  Metrics();
  ~Metrics();

  /// Values of the gauges; must be set whenever they may have changed.
  struct Levels {
    std::size_t connections = 0;
    std::size_t sessions = 0;
    std::size_t groups = 0;
    bool stands_by = false;
    policy::NatTable::Usage nat;
  };
  void set(const Levels& levels);

  void session_opened();
  void session_refused(NegativeReplyCode code);
  void authentication_failed();

  /// A part of `count` transactions took `time` each.
  void took(Phase phase, Clock::duration time, std::size_t count = 1);
  /// A batch with `count` transactions was with the backend, and first with the store, for `time`.
  void batch_took(Clock::duration time, std::size_t count);
  /// The store has stored a batch, or failed to, after `time`.
  void stored(Clock::duration time, bool kept);
  /// A rule from before a restart is in force again.
  void restored(rule::RuleKind kind);
  /// A batch of changes goes to the backend.
  void batch(std::size_t changes);
  /// The outcome of a change is known.
  void decided(const rule::Decision& decision);
  /// A transaction has been answered; flushed() follows when the reply is handed to the transport.
  void replied(policy::Transaction transaction, const Body& reply);
  /// The replies of this turn have been sent.
  void flushed();

  /// Returns the metrics in Prometheus's format, and `figures` after them.
  std::string text(const backend::Figures& figures = {}) const;

 private:
  struct Figures;
  std::unique_ptr<Figures> figures_;
  Clock::duration store_time_{};               ///< of the batch under way
  std::vector<Clock::time_point> replied_at_;  ///< of replies that have not left
};

}  // namespace simco::middlebox
