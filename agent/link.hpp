// A session over a connection, without transactions: what the agent library and the load generator
// have in common. Replies come back by TID; what they mean and how long to wait is the user's
// business.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "simco/net/endpoint.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/read_buffer.hpp"
#include "simco/net/transport.hpp"
#include "simco/session/agent_session.hpp"

namespace simco::agent {

/// Belongs to one event loop and its thread.
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
    /// The replies of one read have been handed out, or the output queue has emptied.
    virtual void on_turn() = 0;
    /// No session, or no longer; the last call. AgentError::kTerminated after an orderly close().
    virtual void on_down(const boost::system::error_code& reason) = 0;

   protected:
    ~Observer() = default;
  };

  /// `read_buffer` is shared with whatever else runs on this loop.
  Link(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
       Observer& observer, AgentSession::Authentication authentication = {},
       net::TransportOptions transport = {});
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  /// Connects and establishes a session; on_open() or on_down() follows. Once in a link's life.
  void open(const net::HostPort& target, std::chrono::milliseconds timeout);
  /// Queues a request for flush() and answers its TID; see AgentSession::request(). Nothing, too,
  /// when the output queue is full (full() tells).
  std::optional<TransactionId> request(const Body& body,
                                       std::optional<TransactionId> same_stream_as = std::nullopt);
  void flush();
  /// Ends the session with ST; on_down() follows.
  void close();

  bool is_open() const { return !down_ && session_ && session_->state() == SessionState::kOpen; }
  /// Has no room for a further request at the moment.
  bool full() const;
  /// Octets queued here and not taken by the transport.
  std::size_t queued() const { return channel_ ? channel_->queued() : 0; }
  /// Null before the connection is there.
  const net::MessageChannel* channel() const { return channel_.get(); }

 private:
  void connected(std::shared_ptr<net::MessageChannel> channel);
  void down(const boost::system::error_code& reason);

  // net::ChannelHandler
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override;
  void on_malformed(net::FramingError error) override;
  void on_input_done(bool mid_message) override;
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
  std::shared_ptr<Link*> alive_;  ///< tells a connection attempt whether we are still there
  bool down_ = false;
};

}  // namespace simco::agent
