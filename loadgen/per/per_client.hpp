// The `per` workload: policy enable rule transactions, as calls cause them.
#pragma once

#include <deque>
#include <unordered_set>

#include "agent/link.hpp"
#include "loadgen/client.hpp"

namespace simco::loadgen {

/// The pinhole of call number `index`: UDP, two ports (RTP and RTCP), both directions, 120 s.
/// Different for each of the first 2^29 indices. Addresses are from 198.18.0.0/15, reserved for
/// benchmarks (RFC 2544).
PerRequest call_pinhole(std::uint64_t index);

/// A session with a middlebox.
class PerClient final : public Client, private agent::Link::Observer {
 public:
  struct Options {
    ConnectionOptions connection;
    /// Maximum number of live rules of this connection: the oldest are deleted; 0: no limit.
    std::uint64_t rules_max = 0;
    std::optional<Credentials> credentials = {};  ///< if the middlebox requires authentication
  };

  PerClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
            const Options& options, Client::Observer& observer)
      : options_(options),
        observer_(observer),
        link_(executor, read_buffer, *this, {options.credentials, {}},
              options.connection.transport) {}

  void open() override { link_.open(options_.connection.target, options_.connection.timeout); }
  std::optional<Sent> send(std::uint64_t index) override;
  void flush() override { link_.flush(); }
  bool full() const override { return link_.full(); }
  std::size_t queued() const override { return link_.queued(); }
  /// Waits for the replies to deletions first: a middlebox ignores requests that come behind ST.
  void finish() override;
  const net::MessageChannel* channel() const override { return link_.channel(); }
  /// Returns the deletions of rules.
  Housekeeping housekeeping() const override { return deleted_; }

 private:
  struct LiveRule {
    PolicyRuleId pid;
    TransactionId creating_tid;
  };

  void on_open(const Capabilities& capabilities) override;
  void on_reply(TransactionId tid, const Body& body) override;
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override;
  void on_turn() override { observer_.on_turn(*this); }
  void on_down(const boost::system::error_code& reason) override;
  void delete_oldest();

  Options options_;
  Client::Observer& observer_;
  agent::Link link_;
  std::deque<LiveRule> live_;
  std::unordered_set<TransactionId> deletions_;
  bool finishing_ = false;
  Housekeeping deleted_;
};

}  // namespace simco::loadgen
