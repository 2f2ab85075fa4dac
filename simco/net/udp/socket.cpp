#include "simco/net/udp/socket.hpp"

#include <boost/asio/error.hpp>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/udp/limits.hpp"

namespace simco::net::udp {

Socket::Socket(const boost::asio::any_io_executor& executor, const boost::asio::ip::address& local,
               std::uint16_t port, OnPeer on_peer)
    : executor_(executor), on_peer_(std::move(on_peer)), crowd_(kPeersMax) {
  DatagramPort::User& user = *this;
  const bool listens = static_cast<bool>(on_peer_);
  port_ = std::make_shared<DatagramPort>(
      executor, batch_, DatagramPort::Options::over_udp(local, port, listens), user);
}

Socket::~Socket() { port_->stop(); }

std::shared_ptr<Channel> Socket::connect(const Path& path) {
  auto channel = std::make_shared<Channel>(shared_from_this(), path);
  channels_.insert_or_assign(path, channel.get());
  return channel;
}

void Socket::leave(Channel& channel) {
  crowd_.leave(&channel);
  const auto found = channels_.find(channel.path());
  if (found != channels_.end() && found->second == &channel) channels_.erase(found);
}

std::shared_ptr<Channel> Socket::channel_of(const Path& path) {
  const auto found = channels_.find(path);
  if (found != channels_.end()) return found->second->shared_from_this();
  if (!on_peer_) return nullptr;
  auto channel = connect(path);
  if (const auto last = crowd_.enter(remote_of(path), channel.get())) {
    (*last)->ended(NetError::kCrowdedOut);
  }
  on_peer_(channel);
  return channel;
}

void Socket::on_packet(DatagramPort&, const Path& path, std::span<const std::byte> packet) {
  const auto channel = channel_of(path);
  if (!channel) return;
  channel->receive(packet);
  heard_.push_back(channel);
}

void Socket::on_batch_done() {
  const auto self = weak_from_this().lock();
  for (const auto& one : std::exchange(heard_, {})) {
    if (const auto channel = one.lock()) channel->input_done();
  }
}

void Socket::on_drained(DatagramPort&) {
  std::vector<std::weak_ptr<Channel>> all;
  for (const auto& [path, channel] : channels_) all.push_back(channel->weak_from_this());
  for (const auto& one : all) {
    if (const auto channel = one.lock()) channel->drained();
  }
}

void Socket::on_unreachable(DatagramPort&, const Path& path) {
  const auto found = channels_.find(path);
  if (found == channels_.end()) return;
  found->second->shared_from_this()->ended(boost::asio::error::connection_refused);
}

}  // namespace simco::net::udp
