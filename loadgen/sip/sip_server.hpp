// simco-sip: answers each INVITE with a provisional response, and a copy of it with the same
// response (RFC 3261 17.2.1). Responses take the stream on which the request came.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "loadgen/sip/arrivals.hpp"
#include "loadgen/sip/compose.hpp"
#include "loadgen/sip/server_transactions.hpp"
#include "simco/net/listener.hpp"
#include "simco/net/message_channel.hpp"

namespace simco::loadgen {

/// The settings of simco-sip.
struct SipServerOptions {
  net::ListenOptions listen;
  std::optional<sip::ResponseKind> response;  ///< nullopt: INVITEs get none
  std::size_t response_size = 300;            ///< octets; more if it needs more
  std::chrono::milliseconds t1 = sip::kT1;    ///< of the clients
  bool keep_arrivals = false;
};

/// The counts of simco-sip.
struct SipServerCounts {
  std::uint64_t invites = 0;              ///< without copies
  std::uint64_t copies = 0;               ///< of INVITEs that are known
  std::uint64_t foreign_invites = 0;      ///< of `invites`, those that no simco-loadgen sent
  std::uint64_t responses = 0;            ///< to INVITEs and their copies
  std::uint64_t refused = 0;              ///< INVITEs answered 503: too many are open
  std::uint64_t acknowledgements = 0;     ///< ACKs
  std::uint64_t other_requests = 0;       ///< answered 405
  std::uint64_t stray_responses = 0;      ///< responses, which no server gets
  std::uint64_t malformed = 0;            ///< cannot be read as SIP
  std::uint64_t connections = 0;          ///< and associations and peers over UDP
  std::uint64_t refused_connections = 0;  ///< there were too many
};

/// The listeners of simco-sip and its connections. Belongs to one event loop.
class SipServer {
 public:
  /// Binds and listens. Throws std::runtime_error with a sentence on failure.
  SipServer(boost::asio::io_context& io, const SipServerOptions& options);
  ~SipServer();

  const net::Listening& listening() const { return listening_; }
  const SipServerCounts& counts() const { return counts_; }
  const sip::Arrivals& arrivals() const { return arrivals_; }
  /// Returns the transports' counts since they were opened, summed over all connections; by
  /// transport, by figure.
  std::map<std::string, std::map<std::string, double>> transport_totals() const;

 private:
  class Connection;
  using Totals = std::map<std::string, std::map<std::string, double>>;

  void accept(std::shared_ptr<net::MessageChannel> channel);
  void ended(const std::shared_ptr<Connection>& connection);
  static void add(const net::MessageChannel& channel, Totals& totals);

  boost::asio::io_context& io_;
  SipServerOptions options_;
  std::unique_ptr<net::ReadBuffer> read_buffer_;
  net::Listening listening_;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
  std::size_t reliable_ = 0;  ///< of them, without peers over UDP
  sip::ServerTransactions transactions_;
  sip::Arrivals arrivals_;
  SipServerCounts counts_;
  Totals totals_;  ///< of connections that have ended
};

}  // namespace simco::loadgen
