// One run: offers transactions by the schedule, over all connections round robin, and records them.
//
// Open loop: a transaction that is due goes to its connection whatever happened to earlier ones. A
// connection that accepts no data delays only its own transactions.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "loadgen/client.hpp"
#include "loadgen/recorder.hpp"
#include "loadgen/schedule.hpp"

namespace simco::loadgen {

/// The load, and the limits of a run.
struct GeneratorOptions {
  Arrivals arrivals = Arrivals::kPoisson;
  std::vector<std::int64_t>
      due;            ///< of read_due_times(), instead of process and rate; empty: those
  double rate = 100;  ///< transactions per second, over all connections
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> count;  ///< transactions to measure; nullopt: by duration
  double duration_s = 10;
  std::uint64_t warmup = 0;  ///< transactions to send first, without measuring them
  double abort_lag_s = 1;    ///< 0: a message may wait for the transport however long
  double timeout_s = 60;
  /// If transactions have no replies: they end when they are handed to the transport, and the run
  /// so long after the last one was due, seconds.
  std::optional<double> drain_s;
};

/// Returns how long the schedule is, seconds; with Poisson arrivals and a count, on average.
double schedule_length_s(const GeneratorOptions& options);

/// Runs the load. Belongs to one event loop.
class Generator final : private Client::Observer {
 public:
  using MakeClient = std::function<std::unique_ptr<Client>(Client::Observer&)>;

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
  std::uint16_t outbound_streams() const { return outbound_streams_; }
  std::uint16_t inbound_streams() const { return inbound_streams_; }
  /// Returns what the clients did by themselves, summed.
  Housekeeping housekeeping() const;
  /// Returns what the clients counted, summed.
  std::vector<Tally> tallies() const;
  /// Returns the start of the schedule on the machine's monotonic clock.
  std::chrono::steady_clock::time_point start() const { return start_; }

 private:
  struct ClientSlot {
    std::unique_ptr<Client> client;
    bool ready = false;
    bool down = false;
    std::deque<Sample> waiting;  ///< due, but not yet queued
    std::unordered_map<TransactionKey, Sample> in_flight;
    struct Unsent {
      TransactionKey key;
      std::uint64_t end;  ///< octets queued since the start, up to its last one
    };
    std::deque<Unsent> unsent;  ///< queued, but not yet accepted by the transport
    std::uint64_t queued_total = 0;
    std::deque<TransactionKey> order;  ///< in the order of sending, to find timeouts
  };

  void on_ready(Client& client) override;
  void on_ended(Client& client, TransactionKey key, Ending ending) override;
  void on_turn(Client& client) override;
  void on_down(Client& client, const boost::system::error_code& reason) override;

  std::int64_t now_ns() const;
  bool measured(std::uint64_t index) const { return index >= options_.warmup; }
  bool schedule_over() const;
  double left_s(std::int64_t now) const;
  void begin();
  void tick();
  void arm_schedule();
  void pump(ClientSlot& slot);
  void mark_sent(ClientSlot& slot);
  void watch();
  void check_timeouts(ClientSlot& slot, std::int64_t now);
  void check_lag(const ClientSlot& slot, std::int64_t now);
  void finish_sample(Sample sample, Ending ending);
  void end_of_schedule();
  /// What is not over yet stays unanswered.
  void give_up_rest();
  void abort(std::string reason);
  void stop_if_done();
  void finish();
  void collect_transport_statistics();
  ClientSlot& slot_of(Client& client);

  boost::asio::io_context& io_;
  GeneratorOptions options_;
  Recorder& recorder_;
  Schedule schedule_;
  boost::asio::steady_timer schedule_timer_;
  boost::asio::steady_timer watch_timer_;
  std::vector<ClientSlot> slots_;
  std::unordered_map<Client*, std::size_t> slot_index_;
  std::function<void(const Progress&)> progress_;
  std::function<void()> on_hold_;
  std::chrono::steady_clock::time_point start_;
  std::uint64_t next_index_ = 0;
  std::uint64_t in_flight_ = 0;
  std::int64_t last_scheduled_ns_ = 0;
  std::int64_t measure_from_ns_ = -1;  ///< scheduled time of the first measured transaction
  std::size_t ready_ = 0;
  std::optional<std::string> abort_reason_;
  net::TransportStatistics transport_statistics_;
  std::uint16_t outbound_streams_ = 0;
  std::uint16_t inbound_streams_ = 0;
  bool running_ = false;
  bool finishing_ = false;
};

}  // namespace simco::loadgen
