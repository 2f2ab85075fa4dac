// Channels hand datagrams to and from the socket that they share, which finds the channel of a
// peer.
#include "simco/net/udp/channel.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/error.hpp"
#include "simco/net/limits.hpp"

namespace simco::net::udp {

using boost::system::error_code;

Channel::Channel(std::shared_ptr<Socket> socket, Path path)
    : socket_(std::move(socket)), path_(std::move(path)), executor_(socket_->get_executor()) {}

Channel::~Channel() {
  if (socket_) socket_->leave(*this);
}

void Channel::start(ChannelHandler& handler, const Framing& framing) {
  state_.start(handler);
  framer_ = &framing.framer;
}

void Channel::detach() {
  state_.detach();
  ended({});
}

void Channel::receive(std::span<const std::byte> datagram) {
  ++received_;
  if (framer_ == nullptr || !state_.takes_input() || state_.paused()) {
    ++unwanted_;
    return;
  }
  if (datagram.size() > framer_->size_max() || framer_->fault_in(datagram, datagram.size())) {
    ++malformed_;
    return;
  }
  state_.deliver(datagram, {});
}

std::span<std::byte> Channel::allocate(std::size_t size, Delivery delivery, std::size_t limit) {
  if (state_.closing() || !socket_) return {};
  return out_.allocate(size, delivery, limit);
}

void Channel::flush() {
  if (!socket_) return;
  for (; !out_.empty(); out_.pop()) {
    socket_->send(path_, out_.front().octets);
    ++sent_;
  }
  out_.compact();
  socket_->flush();
}

std::size_t Channel::queued() const {
  return out_.size() + (socket_ ? socket_->queued() : std::size_t{0});
}

void Channel::close() {
  if (!socket_ || !state_.begin_close()) return;
  flush();
  boost::asio::post(executor_, [self = shared_from_this()] { self->ended({}); });
}

void Channel::ended(const error_code& reason) {
  const auto self = weak_from_this().lock();  // the handler may let go of us
  if (socket_) {
    socket_->leave(*this);
    // Destroyed from the loop: it may have called us.
    boost::asio::post(executor_, [socket = std::move(socket_)] {});
  }
  state_.ended(reason);
}

std::string Channel::peer_address() const { return address_text(path_.remote); }

std::string Channel::peer_endpoint() const {
  return endpoint_text(peer_address(), path_.remote_port);
}

TransportStatistics Channel::statistics() const {
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  return {{"sent_datagrams", number(sent_), true},
          {"received_datagrams", number(received_), true},
          {"malformed_datagrams", number(malformed_), true},
          {"unwanted_datagrams", number(unwanted_), true}};
}

// --- The socket ----------------------------------------------------------------------------------

Socket::Socket(const boost::asio::any_io_executor& executor, const boost::asio::ip::address& local,
               std::uint16_t port, OnPeer on_peer)
    : executor_(executor), on_peer_(std::move(on_peer)), crowd_(kUdpPeersMax) {
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
