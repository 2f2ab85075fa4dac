// A run: offers transactions by the schedule, over all connections round robin, and records them.
//
// Open loop: a transaction that is due goes to its connection without regard to earlier
// transactions. A connection that accepts no data delays only its own transactions.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loadgen/client.hpp"
#include "loadgen/client_slots.hpp"
#include "loadgen/recorder.hpp"
#include "loadgen/schedule.hpp"

namespace simco::loadgen {

/// The load, and the limits of a run.
struct GeneratorOptions : OfferOptions {
  double abort_lag_s = 1;  ///< 0: a message may wait for the transport however long
  double timeout_s = 60;
  bool reconnect = false;   ///< opens lost connections again
  double move_after_s = 0;  ///< a request without a reply goes over the next connection; 0: never
  /// If transactions have no replies: they end when they are handed to the transport, and the run
  /// so many seconds after the last was due.
  std::optional<double> drain_s;
};

/// Runs the load. Belongs to one event loop.
class Generator final : private Client::Observer {
 public:
  /// Returns a client for the connection of that number that is not open yet.
  using MakeClient = std::function<std::unique_ptr<Client>(std::size_t number, Client::Observer&)>;

  /// Counts for a progress display.
  struct Progress {
    double elapsed_s;
    std::uint64_t offered;
    std::uint64_t finished;
    std::uint64_t in_flight;
    double left_s;  ///< of the schedule; the last replies come after it
  };

  Generator(boost::asio::io_context& io, const GeneratorOptions& options, Recorder& recorder,
            std::uint32_t connections, const MakeClient& make_client);
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /// Opens the connections, runs the schedule, waits for the replies and closes. Runs the loop of
  /// `io` until then. `progress` is called every kWatchInterval.
  void run(std::function<void(const Progress&)> progress);
  /// After run(): a server that waits for the ends of the connections does not see them break off.
  /// Runs the loop until it has no more work, for kCloseTimeout at most.
  void let_connections_end();

  /// Holds the schedule: when all connections are open, `connected` is called, and release() begins
  /// the schedule. Must be called before run().
  void hold(std::function<void()> connected) { on_hold_ = std::move(connected); }
  void release();

  /// Aborts the run; run() then returns with the results so far.
  void interrupt() { abort("interrupted"); }

  /// Returns why the run was aborted, if it was.
  const std::optional<std::string>& abort_reason() const { return abort_reason_; }
  /// Returns the transport statistics at the end, summed or averaged over the connections.
  const net::TransportStatistics& transport_statistics() const { return transport_statistics_; }
  std::uint16_t outbound_streams() const { return streams_.outbound; }
  std::uint16_t inbound_streams() const { return streams_.inbound; }
  /// Returns the clients' own actions, summed.
  Housekeeping housekeeping() const { return slots_.housekeeping(); }
  /// Returns the clients' counts, summed.
  std::vector<Tally> tallies() const { return slots_.tallies(); }
  /// Returns the start of the schedule on the machine's monotonic clock.
  std::chrono::steady_clock::time_point start() const { return start_; }

 private:
  enum class Phase : std::uint8_t { kOpening, kRunning, kFinishing };
  struct Streams {
    std::uint16_t outbound = 0;
    std::uint16_t inbound = 0;
  };

  void on_ready(Client& client) override;
  void on_ended(Client& client, TransactionKey key, Ending ending) override;
  void on_turn(Client& client) override;
  void on_down(Client& client, const boost::system::error_code& reason) override;

  std::int64_t now_ns() const;
  void begin();
  /// After a connection was lost: its requests without a reply go over another one, or over its
  /// successor.
  void reopen(ClientSlot& slot);
  void tick();
  void arm_schedule();
  void pump(ClientSlot& slot);
  void move_late(ClientSlot& slot, std::int64_t now);
  void mark_sent(ClientSlot& slot);
  void watch();
  void check_timeouts(ClientSlot& slot, std::int64_t now);
  void check_lag(const ClientSlot& slot, std::int64_t now);
  void finish_sample(Sample sample, Ending ending);
  void end_of_schedule();
  /// Open transactions stay unanswered.
  void give_up_rest();
  void abort(std::string reason);
  void stop_if_done();
  void finish();

  boost::asio::io_context& io_;
  GeneratorOptions options_;
  Recorder& recorder_;
  Offer offer_;
  boost::asio::steady_timer schedule_timer_;
  boost::asio::steady_timer watch_timer_;
  ClientSlots slots_;
  std::function<void(const Progress&)> progress_;
  std::function<void()> on_hold_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t in_flight_ = 0;
  std::optional<std::string> abort_reason_;
  net::TransportStatistics transport_statistics_;
  Streams streams_;
  Phase phase_ = Phase::kOpening;
};

}  // namespace simco::loadgen
