// The connections of a run, each with its transactions that are due or under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "loadgen/client.hpp"
#include "loadgen/recorder.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::loadgen {

/// A connection.
struct ClientSlot {
  std::unique_ptr<Client> client;
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
  std::deque<TransactionKey> order;  ///< in the order of sending, to find timeouts
};

/// All connections, in the order in which transactions take turns.
class ClientSlots {
 public:
  /// `make` returns a client that is not open yet.
  ClientSlots(std::uint32_t connections, const std::function<std::unique_ptr<Client>()>& make);

  auto begin() { return slots_.begin(); }
  auto end() { return slots_.end(); }
  /// Returns the connection of the transaction with that index.
  ClientSlot& for_transaction(std::uint64_t index) { return slots_[index % slots_.size()]; }
  ClientSlot& of(Client& client) { return slots_[index_.at(&client)]; }
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
  std::vector<ClientSlot> slots_;
  std::unordered_map<Client*, std::size_t> index_;
  std::size_t ready_ = 0;
};

}  // namespace simco::loadgen
