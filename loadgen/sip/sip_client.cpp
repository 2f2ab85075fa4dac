// Sends by the schedule and by Timer A, and ends transactions by their responses or Timer B.
#include "loadgen/sip/sip_client.hpp"

#include <algorithm>
#include <cctype>

#include "loadgen/sip/message.hpp"
#include "loadgen/sip/text.hpp"
#include "simco/net/transport_type.hpp"

namespace simco::loadgen {

std::string via_transport(const net::TransportOptions& transport) {
  if (transport.tls && !net::type_of(transport.transport).own_tls) return "TLS";
  std::string name = net::to_string(transport.transport);
  std::ranges::transform(name, name.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return name;
}

SipClient::SipClient(const boost::asio::any_io_executor& executor, net::ReadBuffer& read_buffer,
                     const ConnectionOptions& connection, const Options& options,
                     Client::Observer& observer)
    : ChannelClient(executor, read_buffer, connection, observer, sip::kSipFramer),
      response_(options.response),
      transport_(via_transport(connection.transport)),
      run_(sip::run_of(connection.seed)),
      writer_(transport_, options.invite_size, run_),
      large_every_(options.large_every),
      large_writer_(transport_, options.large_size, run_),
      transactions_(options.t1, net::type_of(connection.transport.transport).reliable),
      timer_(executor) {}

// --- Output ------------------------------------------------------------------------------------

net::Delivery SipClient::delivery_of(std::uint32_t number) {
  return {{static_cast<std::uint16_t>(number % connection().outbound_streams())},
          options().unordered};
}

const sip::InviteWriter& SipClient::writer_of(std::uint32_t number) const {
  return large_every_ != 0 && number % large_every_ == large_every_ - 1 ? large_writer_ : writer_;
}

bool SipClient::queue_invite(std::uint32_t number) {
  const auto& writer = writer_of(number);
  const auto room = connection().allocate(writer.size(), delivery_of(number));
  if (room.empty()) return false;
  writer.write(number, room);
  return true;
}

std::optional<Client::Sent> SipClient::send(std::uint64_t index) {
  const auto number = static_cast<std::uint32_t>(index);
  if (!up() || number != index || !queue_invite(number)) return std::nullopt;
  numbers_end_ = std::max(numbers_end_, index + 1);
  if (response_ != SipResponse::kNone) {
    transactions_.start(number, std::chrono::steady_clock::now());
    arm();
  }
  return Sent{{index}, delivery_of(number).stream};
}

void SipClient::forget(TransactionKey key) {
  transactions_.end(static_cast<std::uint32_t>(key.value));
}

bool SipClient::full() const {
  return ChannelClient::full() || transactions_.size() >= sip::kClientTransactionsMax;
}

void SipClient::acknowledge(const sip::Message& response, net::Delivery delivery) {
  const auto ack = sip::make_ack(response, transport_);
  const auto room = connection().allocate(ack.size(), delivery);
  if (room.empty()) return;  // its response comes again
  std::ranges::copy(std::as_bytes(std::span(ack)), room.begin());
  connection().flush();
  ++acknowledged_;
}

// --- Timers ------------------------------------------------------------------------------------

void SipClient::arm() {
  const auto next = transactions_.next();
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  timer_.expires_at(*next);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) on_timer();
  });
}

void SipClient::on_timer() {
  armed_.reset();
  if (!up()) return;
  const auto now = std::chrono::steady_clock::now();
  while (const auto due = transactions_.take_due(now)) {
    if (due->timed_out) {
      observer().on_ended(*this, {due->number}, {Outcome::kTimedOut});
    } else {
      queue_invite(due->number);
    }
  }
  flush();
  arm();
  observer().on_turn(*this);
}

// --- Input -------------------------------------------------------------------------------------

net::Flow SipClient::on_message(std::span<const std::byte> octets, net::Delivery delivery) {
  const auto text = sip::text_of(octets);
  if (sip::trimmed(text).empty()) return net::Flow::kContinue;  // keeps the connection alive
  const auto message = sip::parse_message(text);
  if (!message) {
    ++malformed_;
  } else if (message->is_request()) {
    ++stray_;
  } else {
    on_response(*message, delivery);
  }
  return net::Flow::kContinue;
}

void SipClient::on_response(const sip::Message& response, net::Delivery delivery) {
  const auto call = sip::call_of_response(response);
  if (!call || call->run != run_ || call->number >= numbers_end_) {
    ++stray_;
    return;
  }
  if (response.status >= 200) acknowledge(response, delivery);
  if (response.status == 100 && response_ == SipResponse::kRinging) {
    if (!transactions_.proceed(call->number)) ++late_;
    return;
  }
  if (!transactions_.end(call->number)) {
    ++late_;
    return;
  }
  Ending ending;
  if (response.status >= 300) ending = {Outcome::kRefused, RefusalCode{response.status}};
  observer().on_ended(*this, {call->number}, ending);
}

std::vector<Tally> SipClient::tallies() const {
  return {{"retransmissions", transactions_.retransmissions()},
          {"further_retransmissions", transactions_.further_retransmissions()},
          {"late_responses", late_},
          {"stray_messages", stray_},
          {"malformed_messages", malformed_},
          {"acknowledgements", acknowledged_}};
}

}  // namespace simco::loadgen
