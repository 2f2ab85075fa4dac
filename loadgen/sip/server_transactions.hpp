// The INVITE server transactions of simco-sip (RFC 3261 17.2.1) in their state Proceeding: a copy
// of an INVITE that is known gets the response that the first one got. No I/O, no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "loadgen/sip/client_transactions.hpp"
#include "loadgen/sip/message.hpp"

namespace simco::loadgen::sip {

/// Returns what identifies the transaction of an INVITE among those of its peer (17.2.3): the
/// branch and sent-by of the topmost Via or, from clients as old as RFC 2543, the fields that a
/// copy repeats.
std::string transaction_id(const Message& invite);

/// Responses by transaction. A peer cannot name the transactions of another one.
class ServerTransactions {
 public:
  /// A transaction is known for `lifetime` after its first INVITE.
  explicit ServerTransactions(std::chrono::milliseconds lifetime) : lifetime_(lifetime) {}

  /// Returns the response that the transaction `id` of `peer` has got; null if it is not known.
  const std::string* find(std::uint64_t peer, std::string_view id, Time now);
  /// Keeps its response. Returns false if there is no room.
  bool add(std::uint64_t peer, std::string_view id, std::string response, Time now);

  std::size_t size() const { return known_.size(); }

 private:
  static std::string key(std::uint64_t peer, std::string_view id);
  void forget_old(Time now);

  std::chrono::milliseconds lifetime_;
  std::unordered_map<std::string, std::string> known_;
  std::deque<std::pair<Time, std::string>> ends_;  ///< in their order
  std::size_t octets_ = 0;                         ///< of all responses
};

}  // namespace simco::loadgen::sip
