// Accepts associations of the userland stack in bounded steps, and begins those of agents.
#include <netinet/in.h>
#include <usrsctp.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/sctp/channel.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/userland_socket.hpp"

namespace simco::net::sctp {

using boost::asio::ip::address;
using boost::system::error_code;

UserlandListener::UserlandListener(UserlandStack& stack,
                                   std::vector<std::shared_ptr<DatagramPort>> ports,
                                   struct socket* socket, std::uint16_t sctp_port,
                                   const SctpOptions& options, ReadBuffer& read_buffer,
                                   OnAccept on_accept, OnError on_error)
    : stack_(&stack),
      ports_(std::move(ports)),
      socket_(socket),
      sctp_port_(sctp_port),
      options_(options),
      read_buffer_(read_buffer),
      on_accept_(std::move(on_accept)),
      on_error_(std::move(on_error)) {
  usrsctp_set_upcall(socket_, &UserlandListener::upcall, this);
  stack_->add_sctp_port(sctp_port_);
  stack_->add(*this);
}

UserlandListener::~UserlandListener() { stop(); }

void UserlandListener::stop() {
  if (socket_ == nullptr) return;
  usrsctp_set_upcall(socket_, nullptr, nullptr);
  usrsctp_close(std::exchange(socket_, nullptr));
  accepted_.clear();
  ports_.clear();
  if (stack_ == nullptr) return;
  stack_->remove_sctp_port(sctp_port_);
  stack_->remove(*this);
}

void UserlandListener::lose_stack() {
  stack_ = nullptr;
  stop();
}

std::vector<std::string> UserlandListener::endpoints() const {
  std::vector<std::string> result;
  for (const auto& port : ports_) {
    result.push_back(endpoint_text(port->local().to_string(), sctp_port_));
  }
  return result;
}

void UserlandListener::upcall(struct socket*, void* self, int) {
  static_cast<UserlandListener*>(self)->ready_ = true;
}

void UserlandListener::accept() {
  if (!std::exchange(ready_, false)) return;
  for (;;) {
    sockaddr_conn from{};
    socklen_t size = sizeof from;
    auto* socket = usrsctp_accept(socket_, reinterpret_cast<sockaddr*>(&from), &size);
    if (socket == nullptr) {
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ECONNABORTED) {
        on_error_(last_system_error());
      }
      return;
    }
    const PeerId peer{number_of(from.sconn_addr), sctp_port_, ntohs(from.sconn_port)};
    if (!stack_->peers().knows(peer)) {
      // The peer has gone in the meantime.
      const linger at_once{1, 0};
      usrsctp_setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      usrsctp_close(socket);
      continue;
    }
    stack_->peers().hold(peer);
    accepted_.push_back(
        std::make_unique<UserlandSocket>(*stack_, socket, peer, receive_buffer(options_)));
  }
}

void UserlandListener::hand_over() {
  for (auto& socket : std::exchange(accepted_, {})) take(std::move(socket));
}

void UserlandListener::take(std::unique_ptr<Socket> socket) {
  on_accept_(std::make_shared<Channel>(std::move(socket), read_buffer_, options_,
                                       [this](std::unique_ptr<Socket> again) {
                                         if (socket_ != nullptr) take(std::move(again));
                                       }));
}

// --- Beginnings --------------------------------------------------------------------------------

std::expected<std::unique_ptr<Socket>, error_code> connect_userland(
    const boost::asio::any_io_executor& executor, const address& remote, std::uint16_t port,
    const SctpOptions& options) {
  const auto stack = UserlandStack::of(executor);
  if (!stack) return std::unexpected(stack.error());
  std::shared_ptr<DatagramPort> way;
  try {
    way = (*stack)->client_port(remote, options.udp_encaps == 0);
  } catch (const boost::system::system_error& failure) {
    return std::unexpected(failure.code());
  }
  auto* socket = open_userland_socket(options);
  if (socket == nullptr) {
    return std::unexpected(last_system_error());
  }
  // Bound first, because the peer is told from others by both ports.
  sockaddr_conn any{};
  any.sconn_family = AF_CONN;
  std::optional<PeerId> peer;
  if (usrsctp_bind(socket, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0) {
    peer = (*stack)->peers().hold(way, {remote, options.udp_encaps, {}}, local_sctp_port(socket),
                                  port);
  }
  if (!peer) {
    usrsctp_close(socket);
    return std::unexpected(make_error_code(boost::asio::error::address_in_use));
  }
  auto result = std::make_unique<UserlandSocket>(**stack, socket, *peer);
  if (const auto error = result->connect(*way)) return std::unexpected(error);
  return result;
}

std::unique_ptr<Listener> listen_userland(const boost::asio::any_io_executor& executor,
                                          const std::vector<address>& addresses, std::uint16_t port,
                                          const SctpOptions& options, ReadBuffer& read_buffer,
                                          Listener::OnAccept on_accept,
                                          Listener::OnError on_error) {
  const auto stack = UserlandStack::of(executor);
  if (!stack) throw boost::system::system_error(stack.error());
  std::vector<std::shared_ptr<DatagramPort>> ports;
  for (const auto& one : addresses) {
    DatagramPort::Options port_options;
    port_options.local = one;
    port_options.udp_port = options.udp_encaps;
    port_options.ip_protocol = options.udp_encaps == 0 ? IPPROTO_SCTP : 0;
    port_options.track_local = one.is_unspecified();
    ports.push_back((*stack)->open_port(port_options));
  }
  auto* socket = open_userland_socket(options);
  if (socket != nullptr) {
    set_receive_buffer(socket, std::min(kUserlandSctpGuestBuffer, receive_buffer(options)));
  }
  sockaddr_conn local{};
  local.sconn_family = AF_CONN;
  local.sconn_port = htons(port);
  auto* where = reinterpret_cast<sockaddr*>(&local);
  if (socket == nullptr || usrsctp_bind(socket, where, sizeof local) != 0 ||
      usrsctp_listen(socket, kListenBacklog) != 0) {
    const auto error = last_system_error();
    if (socket != nullptr) usrsctp_close(socket);
    throw boost::system::system_error(error);
  }
  return std::make_unique<UserlandListener>(**stack, std::move(ports), socket,
                                            port != 0 ? port : local_sctp_port(socket), options,
                                            read_buffer, std::move(on_accept), std::move(on_error));
}

}  // namespace simco::net::sctp
