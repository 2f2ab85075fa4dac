// A connection reads requests and answers them at once; the identities of transactions, and the
// responses to copies, are in ServerTransactions, for all connections together.
#include "loadgen/sip/sip_server.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "loadgen/sip/message.hpp"
#include "loadgen/sip/text.hpp"
#include "simco/net/crowd.hpp"
#include "simco/net/endpoint.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {
namespace {

constexpr sip::ResponseKind kUnavailable{503, "Service Unavailable", "Retry-After: 1\r\n"};
constexpr sip::ResponseKind kNotAllowed{405, "Method Not Allowed", "Allow: INVITE, ACK\r\n"};

sip::Source source_of(const net::MessageChannel& channel) {
  const auto endpoint = net::parse_host_port(channel.peer_endpoint(), kSipPort);
  if (!endpoint) return {channel.peer_address(), kSipPort};
  return {endpoint->host, endpoint->port};
}

IpAddress host_of(const net::MessageChannel& channel) {
  return net::source_of(parse_address(channel.peer_address()).value_or(IpAddress{}));
}

}  // namespace

class SipServer::Connection final : public std::enable_shared_from_this<Connection>,
                                    private net::ChannelHandler {
 public:
  Connection(SipServer& server, std::shared_ptr<net::MessageChannel> channel)
      : server_(server),
        channel_(std::move(channel)),
        source_(source_of(*channel_)),
        peer_{channel_->peer_endpoint(), host_of(*channel_)},
        reliable_(net::type_of(channel_->transport()).reliable) {}
  ~Connection() { channel_->detach(); }
  void start() { channel_->start(*this, {sip::kSipFramer}); }
  const net::MessageChannel& channel() const { return *channel_; }

 private:
  net::Flow on_message(std::span<const std::byte> octets, net::Delivery delivery) override {
    const auto text = sip::text_of(octets);
    if (sip::trimmed(text).empty()) return net::Flow::kContinue;  // keeps the connection alive
    const auto message = sip::parse_message(text);
    auto& counts = server_.counts_;
    if (!message) {
      ++counts.malformed;
    } else if (!message->is_request()) {
      ++counts.stray_responses;
    } else if (message->method == "INVITE") {
      take_invite(*message, delivery);
    } else if (message->method == "ACK") {
      ++counts.acknowledgements;
    } else {
      ++counts.other_requests;
      answer(make_response(*message, kNotAllowed, source_, 0), delivery);
    }
    if (channel_->queued() <= net::kOutputHighWater) return net::Flow::kContinue;
    return net::Flow::kPause;
  }

  void take_invite(const sip::Message& invite, net::Delivery delivery) {
    const auto now = std::chrono::steady_clock::now();
    const auto call = sip::call_of_request(invite);
    auto& counts = server_.counts_;
    // Retransmissions of the client are recognised; a reliable transport leaves nothing to do.
    const auto id = reliable_ ? std::string() : sip::transaction_id(invite);
    if (!reliable_) {
      if (const auto* known = server_.transactions_.find(peer_, id, now)) {
        ++counts.copies;
        note_arrival(call, now);
        if (!known->empty()) respond(*known, delivery);
        return;
      }
    }
    std::string response;
    if (const auto& kind = server_.options_.response) {
      response = make_response(invite, *kind, source_, server_.options_.response_size);
    }
    if (!reliable_ && !server_.transactions_.add(peer_, id, response, now)) {
      ++counts.refused;
      answer(make_response(invite, kUnavailable, source_, 0), delivery);
      return;
    }
    ++counts.invites;
    note_arrival(call, now);
    if (!call) ++counts.foreign_invites;
    if (!response.empty()) respond(response, delivery);
  }

  void note_arrival(const std::optional<sip::CallId>& call, sip::Time now) {
    if (call && server_.options_.keep_arrivals) server_.arrivals_.add(*call, now);
  }

  void respond(const std::string& response, net::Delivery delivery) {
    if (answer(response, delivery)) ++server_.counts_.responses;
  }

  /// Returns false if it is not sent.
  bool answer(const std::string& text, net::Delivery delivery) {
    const auto room = channel_->allocate(text.size(), delivery);
    if (room.empty()) return false;  // it is closing
    std::ranges::copy(std::as_bytes(std::span(text)), room.begin());
    return true;
  }

  void on_malformed(net::FramingError) override {
    ++server_.counts_.malformed;
    channel_->close();
  }
  void on_input_done(std::optional<std::chrono::nanoseconds>) override {
    channel_->flush();
    if (channel_->queued() <= net::kOutputHighWater) channel_->resume_input();
  }
  void on_output_drained() override { channel_->resume_input(); }
  void on_closed(const boost::system::error_code&) override {
    boost::asio::post(server_.io_, [self = shared_from_this()] { self->server_.ended(self); });
  }

  SipServer& server_;
  std::shared_ptr<net::MessageChannel> channel_;
  sip::Source source_;
  sip::Peer peer_;
  bool reliable_;
};

SipServer::SipServer(boost::asio::io_context& io, const SipServerOptions& options)
    : io_(io),
      options_(options),
      read_buffer_(std::make_unique<net::ReadBuffer>()),
      transactions_(sip::kTimerBInT1 * options.t1 + sip::kT4) {
  listening_ = net::listen(
      io.get_executor(), options_.listen, *read_buffer_,
      [this](std::shared_ptr<net::MessageChannel> channel) { accept(std::move(channel)); },
      [](const boost::system::error_code&) {});
}

SipServer::~SipServer() = default;

void SipServer::accept(std::shared_ptr<net::MessageChannel> channel) {
  // Peers over UDP are bounded by their socket, and take no room from connections.
  if (net::type_of(channel->transport()).reliable) {
    if (reliable_ >= sip::kServerConnectionsMax) {
      ++counts_.refused_connections;
      return channel->detach();
    }
    ++reliable_;
  }
  ++counts_.connections;
  const auto connection = std::make_shared<Connection>(*this, std::move(channel));
  connections_.insert(connection);
  connection->start();
}

void SipServer::ended(const std::shared_ptr<Connection>& connection) {
  add(connection->channel(), totals_);
  if (net::type_of(connection->channel().transport()).reliable) --reliable_;
  connections_.erase(connection);
}

void SipServer::add(const net::MessageChannel& channel, Totals& totals) {
  auto& sums = totals[net::to_string(channel.transport())];
  for (const auto& figure : channel.statistics()) {
    if (figure.total) sums[figure.name] += figure.value;
  }
}

std::map<std::string, std::map<std::string, double>> SipServer::transport_totals() const {
  auto totals = totals_;
  for (const auto& connection : connections_) add(connection->channel(), totals);
  return totals;
}

}  // namespace simco::loadgen
