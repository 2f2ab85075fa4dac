// Reads the counters of all elements, some of them at a time between other work of the loop, to
// know when each last changed; and those of certain elements at once.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <span>

#include "middlebox/backend/nftables/counters/counter_ledger.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"

namespace simco::backend::nftables {

class CounterReader {
 public:
  /// `socket` is for questions between commits. Readings go into `ledger`.
  CounterReader(boost::asio::io_context& io, const Options& options, NetlinkSocket& socket,
                CounterLedger& ledger)
      : options_(options), socket_(socket), ledger_(ledger), timer_(io) {}

  /// Begins to read all elements in turn.
  void start();
  /// Reads those of `elements` that are in the kernel. Throws std::system_error if it cannot be
  /// asked.
  void read(std::span<const ElementId> elements);

 private:
  void read_next();
  void read_some(std::span<const ElementId> elements);

  const Options& options_;
  NetlinkSocket& socket_;
  CounterLedger& ledger_;
  boost::asio::steady_timer timer_;
  MessageBuffer ask_;
  std::size_t next_ = 0;  ///< in the ledger
};

}  // namespace simco::backend::nftables
