// A session over a connection, without transactions: common to the agent library and the load
// generator. Replies are identified by TID; their meaning and their timeouts are up to the user.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "simco/net/endpoint.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/transport.hpp"
#include "simco/session/agent_session.hpp"

namespace simco::agent {

/// Connection and session. Belongs to one event loop and its thread.
class Link final : private net::ChannelHandler, private AgentSession::Host {
 public:
  /// Called from the loop, never from inside a call to the link, which must not be destroyed by
  /// them.
  class Observer {
   public:
    /// The session is OPEN.
    virtual void on_open(const Capabilities& capabilities) = 0;
    /// A reply; views in `body` are valid during the call only.
    virtual void on_reply(TransactionId tid, const Body& body) = 0;
    /// An ARE notification.
    virtual void on_rule_event(PolicyRuleId pid, Lifetime lifetime) = 0;
    /// All replies of one read have been delivered, or the output queue has drained.
    virtual void on_turn() = 0;
    /// The session could not be opened, or has ended; the last call. AgentError::kTerminated after
    /// an orderly close().
    virtual void on_down(const boost::system::error_code& reason) = 0;

   protected:
    ~Observer() = default;
  };

  /// `read_buffer` may be shared with all other connections of this loop.
  Link(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
       Observer& observer, AgentSession::Authentication authentication = {},
       net::TransportOptions transport = {});
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  /// Connects and establishes a session; on_open() or on_down() follows. May be called once.
  void open(const net::HostPort& target, std::chrono::milliseconds timeout);
  /// Queues a request for flush() and returns its TID. Returns nullopt if AgentSession::request()
  /// does, or if the output queue is full().
  std::optional<TransactionId> request(const Body& body,
                                       std::optional<TransactionId> same_stream_as = std::nullopt);
  /// Sends the queue.
  void flush();
  /// Ends the session with ST; on_down() follows.
  void close();

  bool is_open() const { return !down_ && session_ && session_->state() == SessionState::kOpen; }
  /// True if the output queue has no room for a further request at the moment.
  bool full() const;
  /// Returns the octets that are queued and not yet accepted by the transport.
  std::size_t queued() const { return channel_ ? channel_->queued() : 0; }
  /// Returns null before the connection is established.
  const net::MessageChannel* channel() const { return channel_.get(); }

 private:
  void connected(std::shared_ptr<net::MessageChannel> channel);
  void down(const boost::system::error_code& reason);

  // net::ChannelHandler
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;
  void on_malformed(net::FramingError error) override;
  void on_input_done(std::optional<std::chrono::nanoseconds> unfinished) override;
  void on_output_drained() override;
  void on_closed(const boost::system::error_code& reason) override;

  // AgentSession::Host
  void send(TransactionId tid, const Body& body) override;
  void on_open(const Capabilities& capabilities) override;
  void on_reply(TransactionId tid, const Body& reply) override;
  void on_rule_event(PolicyRuleId pid, Lifetime lifetime) override;
  void on_end(SessionEnd end, std::optional<NegativeReplyCode> code) override;

  boost::asio::any_io_executor executor_;
  net::ReadBuffer& read_buffer_;
  Observer& observer_;
  AgentSession::Authentication authentication_;
  net::TransportOptions transport_;
  std::shared_ptr<net::MessageChannel> channel_;
  std::optional<AgentSession> session_;
  boost::asio::steady_timer end_timer_;
  std::optional<boost::system::error_code> ending_;  ///< why, while late replies are awaited
  std::shared_ptr<Link*> alive_;  ///< tells a connection attempt whether we are still there
  bool down_ = false;
};

}  // namespace simco::agent
