// Hands packets to their connections, lets newcomers in, and gives every connection its turn.
#include "simco/net/quic/endpoint.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
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
      serves_(listens),
      listens_(listens),
      crowd_(kQuicHandshakesMax) {
  DatagramPort::User& user = *this;
  port_ = std::make_shared<DatagramPort>(
      executor, batch_, DatagramPort::Options::over_udp(local, port, listens), user);
  local_port_ = port_->local_port();
  gate_ = Gate(secret_at(credentials_->secret(), {local, local_port_}));
}

Endpoint::~Endpoint() { port_->stop(); }

Time Endpoint::now() { return std::chrono::steady_clock::now().time_since_epoch(); }

void Endpoint::listen(Audience audience) {
  audience_ = std::move(audience);
  handshakes_max_ = std::min(audience_.handshakes_max, kQuicHandshakesMax);
  crowd_ = Crowd<Channel*>(handshakes_max_);
  port_->start();
}

void Endpoint::stop_listening() {
  listens_ = false;
  audience_ = {};
  for (const auto& [channel, guest] : std::exchange(guests_, {})) crowd_.leave(channel);
}

std::shared_ptr<Channel> Endpoint::connect(const Path& path, const std::string& name,
                                           Channel::OnUp on_up) {
  port_->start();
  auto channel = std::make_shared<Channel>(shared_from_this(), std::move(on_up));
  const Connection::Call call{name};
  channel->begin(credentials_, options_, path, &call, nullptr);
  channel->turn();
  return channel;
}

// --- Called by channels --------------------------------------------------------------------------

void Endpoint::remove(const ConnectionId& id, Channel& channel) {
  const auto found = channels_.find(id);
  if (found != channels_.end() && found->second == &channel) channels_.erase(found);
}

void Endpoint::leave(Channel& channel) {
  for (const auto& id : channel.ids()) remove(id, channel);
  crowd_.leave(&channel);
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
  if (channel.mark_heard()) heard_.push_back(channel.weak_from_this());
}

void Endpoint::on_packet(DatagramPort&, const Path& path, std::span<const std::byte> packet) {
  // The batch that packets are read from is the one that they leave by: none leaves before the last
  // one is read.
  in_turn_ = true;
  const auto destination = destination_of(packet);
  auto found = destination ? channels_.find(*destination) : channels_.end();
  // A stateless reset looks as if it were for another connection, but an agent has only this one.
  if (found == channels_.end() && destination && !serves_) found = channels_.begin();
  if (found == channels_.end()) return judge(path, packet);
  hear(*found->second);
  found->second->receive(path, packet);
}

void Endpoint::judge(const Path& path, std::span<const std::byte> packet) {
  if (!serves_) return;
  const Connection::Udp::endpoint remote(path.remote, path.remote_port);
  const bool proof = crowd_.size() >= handshakes_max_ / kRetryFromPart;
  const auto verdict = gate_.judge(packet, remote, proof, now());
  if (const auto* answer = std::get_if<Gate::Answer>(&verdict)) return port_->send(path, *answer);
  const auto* welcome = std::get_if<Gate::Welcome>(&verdict);
  if (welcome != nullptr && listens_) begin(path, packet, *welcome);
}

void Endpoint::begin(const Path& path, std::span<const std::byte> packet,
                     const Gate::Welcome& welcome) {
  const auto itself = std::make_shared<Channel*>(nullptr);
  auto channel = std::make_shared<Channel>(
      shared_from_this(),
      [this, itself](const boost::system::error_code& error) { decided(**itself, error); });
  *itself = channel.get();
  channel->begin(credentials_, options_, path, nullptr, &welcome);
  channel->add_id(welcome.destination);
  guests_.emplace(channel.get(), channel);
  const auto last = crowd_.enter(remote_of(path), channel.get());
  hear(*channel);
  channel->receive(path, packet);
  if (!last) return;
  const auto crowded_out = guests_.find(*last);
  if (crowded_out != guests_.end()) crowded_out->second->ended(NetError::kCrowdedOut);
}

void Endpoint::decided(Channel& channel, const boost::system::error_code& error) {
  crowd_.leave(&channel);
  const auto found = guests_.find(&channel);
  if (found == guests_.end()) return;
  const auto guest = std::move(found->second);
  guests_.erase(found);
  if (!listens_) return;
  if (error) return audience_.on_refused(guest->peer_address(), error);
  audience_.on_accept(guest);
}

void Endpoint::on_batch_done() {
  const auto self = weak_from_this().lock();
  in_turn_ = true;
  for (const auto& one : std::exchange(heard_, {})) {
    if (const auto channel = one.lock()) channel->turn();
  }
  in_turn_ = false;
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

}  // namespace simco::net::quic
