// Hands packets to their connections, lets newcomers in, gives every connection its turn, and
// answers packets of ended ones.
#include "simco/net/quic/endpoint.hpp"

#include <algorithm>
#include <bit>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

Endpoint::Endpoint(const boost::asio::any_io_executor& executor,
                   const boost::asio::ip::address& local, std::uint16_t port,
                   const QuicOptions& options, std::shared_ptr<const Credentials> credentials,
                   bool listens)
    : executor_(executor),
      options_(options),
      credentials_(std::move(credentials)),
      gate_({}, random_secret()),
      serves_(listens),
      listens_(listens) {
  DatagramPort::User& user = *this;
  port_ = std::make_shared<DatagramPort>(
      executor, batch_, DatagramPort::Options::over_udp(local, port, listens), user);
  local_port_ = port_->local_port();
  set_credentials(credentials_);
}

Endpoint::~Endpoint() { port_->stop(); }

Time Endpoint::now() { return std::chrono::steady_clock::now().time_since_epoch(); }

void Endpoint::listen(Audience audience) {
  handshakes_.set_max(audience.handshakes_max);
  audience_ = std::make_shared<const Audience>(std::move(audience));
  port_->start();
}

// The secret of resets is the private key's, so that they still hold after a restart, which reads
// the files again. That of Retry tokens is for this process and seconds, and stays.
void Endpoint::set_credentials(std::shared_ptr<const Credentials> credentials) {
  credentials_ = std::move(credentials);
  gate_.renew(secret_at(credentials_->secret(), {local(), local_port_}));
}

void Endpoint::stop_listening() {
  listens_ = false;
  audience_.reset();
  handshakes_.clear();
}

std::shared_ptr<Channel> Endpoint::connect(const Path& path, const std::string& name,
                                           Channel::OnUp on_up) {
  port_->start();
  auto channel = std::make_shared<Channel>(shared_from_this(), std::move(on_up));
  const Connection::Call call{name};
  channel->begin(credentials_, options_, path, &call, nullptr);
  // From the loop: it may fail at once, and our caller does not have the channel yet.
  boost::asio::post(executor_, [weak = channel->weak_from_this()] {
    if (const auto self = weak.lock()) self->turn();
  });
  return channel;
}

// --- Called by channels --------------------------------------------------------------------------

void Endpoint::remove(const ConnectionId& id, Channel& channel) {
  const auto found = channels_.find(id);
  if (found != channels_.end() && found->second == &channel) channels_.erase(found);
}

void Endpoint::leave(Channel& channel,
                     const std::optional<std::vector<std::byte>>& closing_packet) {
  for (const auto& id : channel.ids()) remove(id, channel);
  handshakes_.leave(channel);
  if (serves_ && closing_packet) closed_.keep(channel.ids(), *closing_packet, now());
}

void Endpoint::send(const Path& path, std::span<const std::byte> packet) {
  // A socket that is bound to an address sends from there without being told.
  const bool tell = serves_ && local().is_unspecified();
  port_->send(tell ? path : Path{path.remote, path.remote_port, {}}, packet);
}

void Endpoint::flush() {
  if (!in_turn_) port_->flush();
}

// --- Packets -------------------------------------------------------------------------------------

void Endpoint::hear(Channel& channel) {
  if (channel.heard()) return;
  heard_.push_back(channel.weak_from_this());
  channel.mark_heard();
}

void Endpoint::on_packet(DatagramPort&, const Path& path, std::span<const std::byte> packet) {
  // The batch that packets are read from is the one that they leave by: none leaves before the last
  // one is read.
  in_turn_ = true;
  const auto destination = destination_of(packet);
  auto found = destination ? channels_.find(*destination) : channels_.end();
  // A stateless reset looks as if it were for another connection, but an agent has only this one.
  if (found == channels_.end() && destination && !serves_) found = channels_.begin();
  if (found == channels_.end() && destination && closed_.knows(*destination, now())) {
    const auto again = closed_.answer(*destination, packet.size());
    if (!again.empty()) port_->send(path, again);
    return;
  }
  if (found == channels_.end()) return judge(path, packet);
  hear(*found->second);
  found->second->receive(path, packet);
}

void Endpoint::judge(const Path& path, std::span<const std::byte> packet) {
  if (!serves_) return;
  const Connection::Udp::endpoint remote(path.remote, path.remote_port);
  const auto verdict = gate_.judge(packet, remote, handshakes_.need_proof(), now());
  answer(path, verdict);
  const auto* admission = std::get_if<Gate::Admission>(&verdict);
  if (admission != nullptr && listens_) begin(path, packet, *admission);
}

void Endpoint::answer(const Path& path, const Gate::Verdict& verdict) {
  if (const auto* answer = std::get_if<Gate::Answer>(&verdict)) port_->send(path, *answer);
}

void Endpoint::begin(const Path& path, std::span<const std::byte> packet,
                     const Gate::Admission& admission) {
  const auto itself = std::make_shared<Channel*>(nullptr);
  auto channel = std::make_shared<Channel>(
      shared_from_this(),
      [this, itself](const boost::system::error_code& error) { decided(**itself, error); });
  *itself = channel.get();
  channel->begin(credentials_, options_, path, nullptr, &admission);
  channel->add_id(admission.destination);
  const auto last = handshakes_.enter(remote_of(path), channel);
  hear(*channel);  // which gives it a timer
  channel->receive(path, packet);
  if (channel->wants_proof()) {
    handshakes_.take(*channel);
    answer(path, gate_.judge(packet, {path.remote, path.remote_port}, true, now()));
  }
  if (last) last->ended(NetError::kCrowdedOut);
}

void Endpoint::decided(Channel& channel, const boost::system::error_code& error) {
  const auto guest = handshakes_.take(channel);
  if (!guest || !listens_) return;
  // It may stop the listener, and with it the audience.
  const auto audience = audience_;
  if (!error) return audience->on_accept(guest);
  // Anyone can send in another's name.
  const auto* doubt = guest->proven() ? "" : " (address not verified)";
  audience->on_refused(guest->peer_address() + doubt, error);
}

void Endpoint::on_batch_done() {
  const auto self = weak_from_this().lock();
  {
    // Also if a user's exception ends it.
    const auto end = [](bool* in_turn) { *in_turn = false; };
    in_turn_ = true;
    const std::unique_ptr<bool, decltype(end)> turn(&in_turn_, end);
    for (const auto& one : std::exchange(heard_, {})) {
      if (const auto channel = one.lock()) channel->turn();
    }
  }
  port_->flush();
}

void Endpoint::on_unreachable(DatagramPort&, const Path&) {
  // Anyone can send such a message: it counts only until the peer has answered.
  for (const auto& [id, channel] : channels_) {
    if (channel->up()) continue;
    const auto guest = channel->shared_from_this();
    return guest->ended(boost::asio::error::connection_refused);
  }
}

// --- Ended connections ---------------------------------------------------------------------------

void ClosedConnections::keep(const std::vector<ConnectionId>& ids, std::vector<std::byte> packet,
                             Time now) {
  if (closed_.size() == kClosedMax) forget_oldest();
  auto& closed = closed_.emplace_back(ids, std::move(packet), now + kClosedTime);
  for (const auto& id : ids) by_id_.insert_or_assign(id, &closed);
}

bool ClosedConnections::knows(std::string_view id, Time now) {
  while (!closed_.empty() && closed_.front().until <= now) forget_oldest();
  return by_id_.contains(id);
}

std::span<const std::byte> ClosedConnections::answer(std::string_view id, std::size_t size) {
  auto& closed = *by_id_.find(id)->second;
  const bool due = std::has_single_bit(++closed.heard);
  if (!due || closed.packet.size() > 3 * size) return {};
  return closed.packet;
}

void ClosedConnections::forget_oldest() {
  auto& oldest = closed_.front();
  for (const auto& id : oldest.ids) {
    const auto found = by_id_.find(id);
    if (found != by_id_.end() && found->second == &oldest) by_id_.erase(found);
  }
  closed_.pop_front();
}

}  // namespace simco::net::quic
