// The connections of a run, each with its transactions that are due or under way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "loadgen/client.hpp"
#include "loadgen/limits.hpp"
#include "loadgen/recorder.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::loadgen {

/// A connection, or several in succession if a lost one is opened again.
struct ClientSlot {
  std::size_t number = 0;
  std::unique_ptr<Client> client;
  Housekeeping past;                ///< of the clients before this one
  std::vector<Tally> past_tallies;  ///< of these
  bool ready = false;
  bool down = false;
  std::deque<Sample> waiting;  ///< due, but not yet queued
  std::unordered_map<TransactionKey, Sample> in_flight;
  struct Unsent {
    TransactionKey key;
    std::uint64_t end;  ///< octets queued since the start, its own included
  };
  std::deque<Unsent> unsent;  ///< queued, but not yet accepted by the transport
  std::uint64_t queued_total = 0;
  struct Queued {
    TransactionKey key;
    std::int64_t at_ns;
  };
  std::deque<Queued> order;  ///< in the order of sending, to find what is late
  std::optional<boost::asio::steady_timer> pause;  ///< before the next attempt to open it again
  std::chrono::nanoseconds next_pause = kReopenPauseFirst;
};

/// All connections, in the order in which transactions take turns.
class ClientSlots {
 public:
  /// Returns a client for the connection of that number that is not open yet.
  using Make = std::function<std::unique_ptr<Client>(std::size_t number)>;

  ClientSlots(boost::asio::io_context& io, std::uint32_t connections, std::uint64_t seed,
              Make make);

  auto begin() { return slots_.begin(); }
  auto end() { return slots_.end(); }
  /// Returns the connection of the transaction with that index: the one whose turn it is, or the
  /// next that is up.
  ClientSlot& for_transaction(std::uint64_t index);
  /// Returns the next connection after it that is up, or itself if none is.
  ClientSlot& after(const ClientSlot& slot) { return for_transaction(slot.number + 1); }
  ClientSlot& of(Client& client) { return slots_[index_.at(&client)]; }
  /// Takes the transactions that are due or under way out of a lost connection, in their order.
  static std::vector<Sample> take_unanswered(ClientSlot& slot);
  /// Opens a lost connection again after a pause, unless `wanted` says otherwise then.
  void reopen(ClientSlot& slot, std::function<bool()> wanted);
  /// A connection that was opened again is up.
  static void mark_up(ClientSlot& slot);
  /// The connection can be used.
  void mark_ready(Client& client);
  bool all_ready() const { return ready_ == slots_.size(); }
  bool all_down() const;

  /// Returns the channel of the first connection; it must be ready.
  const net::MessageChannel& first_channel() const { return *slots_.front().client->channel(); }
  /// Returns the clients' own actions, summed.
  Housekeeping housekeeping() const;
  /// Returns the clients' counts, summed.
  std::vector<Tally> tallies() const;
  /// Returns the statistics of the transport, summed or averaged over the connections that are up.
  net::TransportStatistics transport_statistics() const;

 private:
  boost::asio::io_context& io_;
  Make make_;
  std::minstd_rand random_;  ///< of the pauses
  std::vector<ClientSlot> slots_;
  std::unordered_map<Client*, std::size_t> index_;
  std::size_t ready_ = 0;
};

}  // namespace simco::loadgen
