// The `sip` workload: INVITEs, each a transaction that ends with the response that is waited for.
// Over UDP they are sent again until it comes (RFC 3261 17.1.1.2). Over SCTP the call's number
// chooses the stream.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <string>

#include "loadgen/channel_client.hpp"
#include "loadgen/sip/client_transactions.hpp"
#include "loadgen/sip/compose.hpp"

namespace simco::loadgen {

/// Which responses the workload waits for.
enum class SipResponse : std::uint8_t {
  kRinging,  ///< 180, or any other except 100
  kTrying,   ///< 100, or any other
  kNone,     ///< none: a transaction ends when its INVITE has been handed over
};

/// A connection to a SIP server.
class SipClient final : public ChannelClient {
 public:
  struct Options {
    std::size_t invite_size;  ///< octets
    /// Every so many INVITEs, an INVITE of `large_size` octets; 0: none.
    std::uint64_t large_every;
    std::size_t large_size;
    SipResponse response;
    std::chrono::milliseconds t1;
  };

  SipClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
            const ConnectionOptions& connection, const Options& options,
            Client::Observer& observer);

  std::optional<Sent> send(std::uint64_t index) override;
  void forget(TransactionKey key) override;
  bool full() const override;
  std::vector<Tally> tallies() const override;

 private:
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;
  void on_response(const sip::Message& response, net::Delivery delivery);
  /// Queues the INVITE of that call. Returns false if there is no room.
  bool queue_invite(std::uint32_t number);
  const sip::InviteWriter& writer_of(std::uint32_t number) const;
  net::Delivery delivery_of(std::uint32_t number);
  void acknowledge(const sip::Message& response, net::Delivery delivery);
  void arm();
  void on_timer();

  SipResponse response_;
  std::string transport_;  ///< as Via names it
  std::uint32_t run_;
  sip::InviteWriter writer_;
  std::uint64_t large_every_;
  sip::InviteWriter large_writer_;
  sip::ClientTransactions transactions_;
  boost::asio::steady_timer timer_;
  std::optional<sip::Time> armed_;
  std::uint64_t numbers_end_ = 0;  ///< above the highest number sent
  std::uint64_t late_ = 0;
  std::uint64_t stray_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t acknowledged_ = 0;
};

/// Returns the name of a connection's transport as Via has it: "UDP", "TCP", "TLS", "SCTP".
std::string via_transport(const net::TransportOptions& transport);

}  // namespace simco::loadgen
