// Sets the options of an association, moves its messages, and passes on usrsctp's notifications
// when the stack gives it its turn.
#include "simco/net/sctp/userland_socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <usrsctp.h>

#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/error.hpp"
#include "simco/net/sctp/channel.hpp"
#include "simco/net/sctp/limits.hpp"
#include "simco/net/sctp/stack_options.hpp"

namespace simco::net::sctp {
namespace {

using boost::system::error_code;

template <class Value>
bool set(struct socket* socket, int level, int name, const Value& value) {
  return usrsctp_setsockopt(socket, level, name, &value, sizeof value) == 0;
}

void set_options(struct socket* socket, const SctpOptions& options) {
  const auto set_sctp = [socket](int name, const auto& value) {
    set(socket, IPPROTO_SCTP, name, value);
  };
  set_initiation(options, set_sctp);
  set_common_options(options, set_sctp);
  auto path = path_parameters(options);
  path.spp_address.ss_family = AF_CONN;
  path.spp_pathmtu = kUserlandMtu;
  path.spp_flags |= SPP_PMTUD_DISABLE;
  set_sctp(SCTP_PEER_ADDR_PARAMS, path);
  sctp_assoc_value scheduler{};
  scheduler.assoc_value =
      options.scheduler == SctpScheduler::kRoundRobin ? SCTP_SS_ROUND_ROBIN : SCTP_SS_FIRST_COME;
  set_sctp(SCTP_PLUGGABLE_SS, scheduler);
  const auto send = options.buffer != 0 ? options.buffer : kUserlandSctpSendBuffer;
  set(socket, SOL_SOCKET, SO_SNDBUF, static_cast<int>(send));
  set_receive_buffer(socket, receive_buffer(options));
}

sctp_status status_of(struct socket* socket) {
  sctp_status status{};
  socklen_t size = sizeof status;
  if (socket == nullptr ||
      usrsctp_getsockopt(socket, IPPROTO_SCTP, SCTP_STATUS, &status, &size) != 0) {
    return {};
  }
  return status;
}

error_code meaning_of(int number) {
  switch (number) {
    case ECONNRESET: return NetError::kAssociationAborted;
    case ECONNABORTED:
    case ETIMEDOUT: return NetError::kAssociationLost;
    default: return {number, boost::system::system_category()};
  }
}

error_code why_not_started(bool aborted) {
  return aborted ? boost::asio::error::connection_refused : boost::asio::error::timed_out;
}

}  // namespace

std::uint16_t local_sctp_port(struct socket* socket) {
  sockaddr* addresses = nullptr;
  if (usrsctp_getladdrs(socket, 0, &addresses) <= 0) return 0;
  sockaddr_conn first{};
  std::memcpy(&first, addresses, sizeof first);
  usrsctp_freeladdrs(addresses);
  return ntohs(first.sconn_port);
}

std::uint32_t receive_buffer(const SctpOptions& options) {
  return options.buffer != 0 ? options.buffer : kUserlandSctpReceiveBuffer;
}

void set_receive_buffer(struct socket* socket, std::uint32_t octets) {
  set(socket, SOL_SOCKET, SO_RCVBUF, static_cast<int>(octets));
}

struct socket* open_userland_socket(const SctpOptions& options) {
  auto* socket = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, nullptr, nullptr, 0, nullptr);
  if (socket == nullptr) return nullptr;
  usrsctp_set_non_blocking(socket, 1);
  set_options(socket, options);
  return socket;
}

UserlandSocket::UserlandSocket(UserlandStack& stack, struct socket* socket, PeerId peer,
                               std::uint32_t window)
    : executor_(stack.executor()), stack_(&stack), socket_(socket), peer_(peer), window_(window) {
  usrsctp_set_non_blocking(socket_, 1);
  usrsctp_set_upcall(socket_, &UserlandSocket::upcall, this);
  stack_->add(*this);
}

UserlandSocket::~UserlandSocket() { abort(); }

error_code UserlandSocket::connect(const DatagramPort& port) {
  connecting_ = true;
  client_port_ = &port;
  stack_->add_sctp_port(peer_.local_port);
  sockaddr_conn address{};
  address.sconn_family = AF_CONN;
  address.sconn_port = htons(peer_.remote_port);
  address.sconn_addr = address_of(peer_.number);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  if (usrsctp_connect(socket_, where, sizeof address) != 0 && errno != EINPROGRESS) {
    return last_system_error();
  }
  stack_->flush();
  return {};
}

// --- Data --------------------------------------------------------------------------------------

Input UserlandSocket::receive(std::span<std::byte> buffer) {
  if (unreachable_) {
    return Input(make_error_code(boost::asio::error::connection_refused));
  }
  if (socket_ == nullptr) return Input(Input::Kind::kEnd);
  sctp_rcvinfo info{};
  socklen_t info_size = sizeof info;
  unsigned info_type = 0;
  int flags = 0;
  sockaddr_conn from{};
  socklen_t from_size = sizeof from;
  const auto got =
      usrsctp_recvv(socket_, buffer.data(), buffer.size(), reinterpret_cast<sockaddr*>(&from),
                    &from_size, &info, &info_size, &info_type, &flags);
  if (got == 0) return Input(Input::Kind::kEnd);
  if (got < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return Input(meaning_of(errno));
    }
    drained_ = true;
    return {};
  }
  connecting_ = false;
  const auto size = static_cast<std::size_t>(got);
  if ((flags & MSG_NOTIFICATION) != 0) {
    return judge_notification(buffer.first(size), why_not_started);
  }
  Input input(Input::Kind::kData);
  input.size = size;
  input.complete = (flags & MSG_EOR) != 0;
  if (info_type == SCTP_RECVV_RCVINFO) {
    input.delivery = {StreamId{info.rcv_sid}, (info.rcv_flags & SCTP_UNORDERED) != 0};
  }
  return input;
}

// Messages that follow each other share packets, which is half of the cost: with Nagle's algorithm
// on, all but the last wait for company.
void UserlandSocket::set_bundling(bool on) {
  if (std::exchange(bundling_, on) == on) return;
  const int no_delay = on ? 0 : 1;
  set(socket_, IPPROTO_SCTP, SCTP_NODELAY, no_delay);
}

error_code UserlandSocket::send(std::span<const std::byte> octets, Delivery delivery,
                                Sending sending) {
  if (socket_ == nullptr) return boost::asio::error::not_connected;
  set_bundling(sending.more);
  auto info = send_info(delivery, sending);
  const auto sent = usrsctp_sendv(socket_, octets.data(), octets.size(), nullptr, 0, &info,
                                  sizeof info, SCTP_SENDV_SNDINFO, 0);
  if (sent >= 0) return {};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return boost::asio::error::would_block;
  return last_system_error();
}

void UserlandSocket::flush() {
  if (stack_ != nullptr) stack_->flush();
}

// --- Readiness ---------------------------------------------------------------------------------

void UserlandSocket::upcall(struct socket*, void* self, int) {
  auto& socket = *static_cast<UserlandSocket*>(self);
  socket.drained_ = false;
  if (socket.stack_ == nullptr || std::exchange(socket.ready_, true)) return;
  socket.stack_->make_ready(socket);
}

void UserlandSocket::wait_readable(Ready ready) {
  readable_ = std::move(ready);
  if (!drained_ && stack_ != nullptr && !std::exchange(ready_, true)) stack_->make_ready(*this);
}

void UserlandSocket::wait_writable(Ready ready) { writable_ = std::move(ready); }

void UserlandSocket::on_ready() {
  ready_ = false;
  // Called from copies, because they may let go of us.
  auto readable = std::exchange(readable_, nullptr);
  auto writable = std::exchange(writable_, nullptr);
  if (writable) writable();
  if (readable) readable();
}

void UserlandSocket::on_unreachable(const DatagramPort& port, const Path& path) {
  if (!connecting_ || client_port_ != &port || !(stack_->peers().path(peer_) == path)) return;
  unreachable_ = true;
  upcall(socket_, this, 0);
}

// --- The end -----------------------------------------------------------------------------------

void UserlandSocket::open_window() {
  const auto octets = std::exchange(window_, 0);
  if (octets != 0 && socket_ != nullptr) set_receive_buffer(socket_, octets);
}

void UserlandSocket::shutdown() {
  if (socket_ != nullptr) usrsctp_shutdown(socket_, SHUT_WR);
}

void UserlandSocket::close() {
  if (socket_ == nullptr) return;
  usrsctp_set_upcall(socket_, nullptr, nullptr);
  usrsctp_close(std::exchange(socket_, nullptr));
  let_go();
}

void UserlandSocket::abort() {
  if (socket_ == nullptr) return;
  const linger at_once{1, 0};
  set(socket_, SOL_SOCKET, SO_LINGER, at_once);
  close();
}

void UserlandSocket::let_go() {
  readable_ = nullptr;
  writable_ = nullptr;
  if (stack_ == nullptr) return;
  if (client_port_ != nullptr) stack_->remove_sctp_port(peer_.local_port);
  stack_->remove(*this);
  stack_->peers().release(peer_);
  stack_->flush();
  stack_ = nullptr;
}

void UserlandSocket::lose_stack() {
  auto* stack = std::exchange(stack_, nullptr);
  abort();
  stack->peers().release(peer_);
}

// --- Figures -----------------------------------------------------------------------------------

Ends UserlandSocket::ends() const {
  const auto status = status_of(socket_);
  const bool known = stack_ != nullptr && stack_->peers().knows(peer_);
  const auto address = known ? stack_->peers().path(peer_).remote.to_string() : "unknown";
  return {std::max<std::uint16_t>(1, status.sstat_outstrms),
          std::max<std::uint16_t>(1, status.sstat_instrms), address,
          endpoint_text(address, peer_.remote_port)};
}

TransportStatistics UserlandSocket::statistics() const {
  if (socket_ == nullptr || stack_ == nullptr) return {};
  const auto status = status_of(socket_);
  if (status.sstat_assoc_id == 0) return {};  // the association is over
  const auto& path = status.sstat_primary;
  const auto number = [](auto value) { return static_cast<double>(value); };
  return {{"rtt_ms", number(path.spinfo_srtt)},
          {"rto_ms", number(path.spinfo_rto)},
          {"cwnd_octets", number(path.spinfo_cwnd)},
          {"mtu_octets", number(path.spinfo_mtu)},
          {"peer_rwnd_octets", number(status.sstat_rwnd)},
          {"unacked_chunks", number(status.sstat_unackdata)},
          {"pending_chunks", number(status.sstat_penddata)},
          {"retransmitted_chunks", number(stack_->peers().retransmissions(peer_)), true}};
}

}  // namespace simco::net::sctp
