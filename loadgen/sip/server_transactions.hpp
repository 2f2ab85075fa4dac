// The INVITE server transactions of simco-sip (RFC 3261 17.2.1) in their state Proceeding: a copy
// of a known INVITE gets the response of the first. No I/O, no clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "loadgen/sip/client_transactions.hpp"
#include "loadgen/sip/message.hpp"
#include "simco/wire/ip.hpp"

namespace simco::loadgen::sip {

/// Returns the identity of an INVITE's transaction among those of its peer (17.2.3): the branch and
/// sent-by of the topmost Via or, from clients as old as RFC 2543, the fields that a copy repeats.
std::string transaction_id(const Message& invite);

/// A sender of INVITEs.
struct Peer {
  std::string endpoint;  ///< address and port: the same when it comes back after it was forgotten
  IpAddress source;      ///< its host, whose peers share the host's limits
};

/// Responses by transaction. A peer cannot name the transactions of another, and a host cannot take
/// the room of all.
class ServerTransactions {
 public:
  /// A transaction is known for `lifetime` after its first INVITE.
  explicit ServerTransactions(std::chrono::milliseconds lifetime) : lifetime_(lifetime) {}

  /// Returns the response that the transaction `id` of `peer` has got; null if it is not known.
  const std::string* find(const Peer& peer, std::string_view id, Time now);
  /// Keeps its response. Returns false if there is no room, or none for that host.
  bool add(const Peer& peer, std::string_view id, std::string response, Time now);

  std::size_t size() const { return known_.size(); }

 private:
  struct Share {
    std::size_t transactions = 0;
    std::size_t octets = 0;  ///< of responses
  };
  using Known = std::unordered_map<std::string, std::string>;
  struct End {
    Time at;
    Known::const_pointer known;  ///< stays where it is while others come and go
    IpAddress source;
  };

  static std::string key(const Peer& peer, std::string_view id);
  void forget_old(Time now);

  std::chrono::milliseconds lifetime_;
  Known known_;
  std::deque<End> ends_;  ///< in their order
  std::map<IpAddress, Share> shares_;
  std::size_t octets_ = 0;  ///< of all responses
};

}  // namespace simco::loadgen::sip
