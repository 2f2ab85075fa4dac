// The metrics of the middlebox, for Prometheus (exposition format 0.0.4 over HTTP).
//
// The loop's thread counts; the values are atomic, and the server's own threads read them. Label
// values come from fixed sets, whatever peers send.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "middlebox/policy/authorization.hpp"
#include "middlebox/policy/nat.hpp"
#include "middlebox/rule/dropped_packets.hpp"
#include "middlebox/rule/fast_path_packets.hpp"
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

/// Counters, gauges and histograms. All members except serve() and text() are for the loop's
/// thread.
class Metrics {
 public:
  using Clock = std::chrono::steady_clock;

  Metrics();
  ~Metrics();

  /// Serves the metrics at http://ADDRESS:PORT/metrics from threads of its own, which have the
  /// caller's privileges. They call `refresh`, if it is not empty, before they read the metrics.
  /// Throws std::runtime_error with a sentence on failure.
  void serve(const std::string& endpoint, std::function<void()> refresh = {});

  /// Values of the gauges; must be set whenever they may have changed.
  struct Levels {
    std::size_t connections = 0;
    std::size_t sessions = 0;
    std::size_t groups = 0;
    policy::NatTable::Usage nat;
  };
  void set(const Levels& levels);

  /// What the backend has dropped so far.
  void set(const rule::DroppedPackets& dropped);
  /// What its fast path has met so far.
  void set(const rule::FastPathPackets& met);

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

  /// Returns the text that is served.
  std::string text() const;

 private:
  struct Figures;
  std::unique_ptr<Figures> figures_;
  Clock::duration store_time_{};               ///< of the batch under way
  std::vector<Clock::time_point> replied_at_;  ///< of replies that have not left
};

}  // namespace simco::middlebox
