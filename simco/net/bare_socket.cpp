// Opens sockets with the options that TcpChannel, sctp::KernelSocket and DatagramPort set.
#include "simco/net/bare_socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/sctp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "simco/net/limits.hpp"
#include "simco/net/sctp/kernel.hpp"
#include "simco/net/sctp/limits.hpp"

namespace simco::net {
namespace {

int must(int result, const std::string& what) {
  if (result < 0) throw std::runtime_error(what + ": " + std::strerror(errno));
  return result;
}

void set(int fd, int level, int name, int value) {
  must(::setsockopt(fd, level, name, &value, sizeof value), "cannot set an option of a socket");
}

sockaddr_in name_of(const std::string& address, std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1) {
    throw std::runtime_error("an IPv4 address is needed, got " + address);
  }
  return name;
}

void set_tcp_options(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

BareSocket opened(Transport transport, const SctpOptions& sctp) {
  if (transport == Transport::kSctp) {
    const auto fd = sctp::open_kernel_socket(AF_INET, sctp);
    if (!fd) throw std::runtime_error("cannot open a socket: " + fd.error().message());
    return BareSocket(*fd, sctp.i_bit);
  }
  const bool udp = transport == Transport::kUdp;
  const int type = (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  BareSocket socket(must(::socket(AF_INET, type, 0), "cannot open a socket"));
  if (udp) {
    set(socket.fd(), SOL_SOCKET, SO_RCVBUFFORCE, kDatagramSocketBuffer);
    set(socket.fd(), SOL_SOCKET, SO_SNDBUFFORCE, kDatagramSocketBuffer);
  }
  return socket;
}

int in_ms(std::chrono::milliseconds time) { return static_cast<int>(time.count()); }

/// Returns false if none of the events came in time.
bool wait_for(int fd, short events, int limit_ms) {
  pollfd one{fd, events, 0};
  int found = 0;
  do {
    found = ::poll(&one, 1, limit_ms);
  } while (found < 0 && errno == EINTR);
  return found > 0;
}

int protocol_of(int fd) {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  must(::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size), "a socket has no protocol");
  return protocol;
}

/// Another descriptor of an association, to ask for what it knows.
class Association {
 public:
  explicit Association(int fd)
      : socket_(io_.get_executor(), must(::dup(fd), "cannot ask for an association")) {}
  ~Association() { socket_.close(); }  // else it would be aborted
  Association(const Association&) = delete;
  Association& operator=(const Association&) = delete;
  sctp::KernelSocket* operator->() { return &socket_; }

 private:
  boost::asio::io_context io_;
  sctp::KernelSocket socket_;
};

std::map<std::string, double> figures_of_tcp(std::span<const BareSocket> sockets) {
  double segments = 0;
  double octets = 0;
  for (const auto& socket : sockets) {
    tcp_info info{};
    socklen_t size = sizeof info;
    must(::getsockopt(socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &size), "no TCP_INFO");
    segments += info.tcpi_snd_cwnd;
    octets += info.tcpi_snd_mss;
  }
  const auto count = static_cast<double>(sockets.size());
  return {{"cwnd_segments", segments / count}, {"mss_octets", octets / count}};
}

}  // namespace

BareSocket::BareSocket(BareSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), i_bit_(other.i_bit_) {}

BareSocket::~BareSocket() {
  if (fd_ >= 0) ::close(fd_);
}

BareSocket BareSocket::connected(const TransportOptions& options, const HostPort& to) {
  BareSocket socket = opened(options.transport, options.settings.sctp);
  const auto name = name_of(to.host, to.port);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    must(errno == EINPROGRESS ? 0 : -1, "cannot connect");
    wait_for(socket.fd(), POLLOUT, -1);
    int error = 0;
    socklen_t size = sizeof error;
    must(::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size), "cannot connect");
    errno = error;
    must(error == 0 ? 0 : -1, "cannot connect");
  }
  if (options.transport == Transport::kTcp) set_tcp_options(socket.fd());
  return socket;
}

BareSocket BareSocket::listening(const ListenOptions& options) {
  const auto transport = options.transports.front();
  const auto& address = options.addresses.front();
  BareSocket socket = opened(transport, options.settings.sctp);
  const bool udp = transport == Transport::kUdp;
  if (!udp) set(socket.fd(), SOL_SOCKET, SO_REUSEADDR, 1);
  const auto name = name_of(address, options.port);
  must(::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&name), sizeof name),
       "cannot bind " + address);
  if (!udp) must(::listen(socket.fd(), kListenBacklog), "cannot listen");
  return socket;
}

BareSocket BareSocket::accepted(const ListenOptions& options) const {
  BareSocket socket(
      must(::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), "cannot accept"),
      i_bit_);
  const auto transport = options.transports.front();
  if (transport == Transport::kTcp) set_tcp_options(socket.fd());
  if (transport == Transport::kSctp) {
    sctp::set_kernel_options(socket.fd(), options.settings.sctp);
  }
  return socket;
}

void BareSocket::send(std::span<const std::byte> message, std::uint32_t payload_protocol) const {
  if (protocol_of(fd_) == IPPROTO_SCTP) {
    const sctp::Socket::Sending sending{.payload_protocol = payload_protocol, .i_bit = i_bit_};
    const auto error = Association(fd_)->send(message, {}, sending);
    if (error) throw std::runtime_error("cannot send: " + error.message());
    return;
  }
  must(static_cast<int>(::send(fd_, message.data(), message.size(), MSG_NOSIGNAL)), "cannot send");
}

std::vector<std::byte> BareSocket::receive(std::size_t size) const {
  std::vector<std::byte> message(size);
  for (std::size_t at = 0; at < size;) {
    if (!wait_for(fd_, POLLIN, in_ms(kCloseTimeout)))
      throw std::runtime_error("the peer is silent");
    iovec room{message.data() + at, size - at};
    msghdr header{};
    header.msg_iov = &room;
    header.msg_iovlen = 1;
    const auto got = must(static_cast<int>(::recvmsg(fd_, &header, 0)), "cannot receive");
    if (got == 0) throw std::runtime_error("the peer has ended the connection");
    if ((header.msg_flags & MSG_NOTIFICATION) == 0) at += static_cast<std::size_t>(got);
  }
  return message;
}

HostPort BareSocket::local() const {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  must(::getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &size), "no local address");
  std::array<char, INET_ADDRSTRLEN> text{};
  return {::inet_ntop(AF_INET, &name.sin_addr, text.data(), text.size()), ntohs(name.sin_port)};
}

std::uint16_t BareSocket::streams() const {
  return protocol_of(fd_) == IPPROTO_SCTP ? Association(fd_)->ends().outbound_streams : 1;
}

void finish(std::span<const BareSocket> sockets) {
  for (const auto& socket : sockets) ::shutdown(socket.fd(), SHUT_WR);
  for (const auto& socket : sockets) {
    const int protocol = protocol_of(socket.fd());
    if (protocol == IPPROTO_UDP) continue;
    if (wait_for(socket.fd(), POLLRDHUP, in_ms(kCloseTimeout))) continue;
    if (protocol != IPPROTO_SCTP) continue;
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
}

std::map<std::string, double> figures_of(std::span<const BareSocket> sockets) {
  const int fd = sockets.front().fd();
  if (protocol_of(fd) == IPPROTO_TCP) return figures_of_tcp(sockets);
  std::map<std::string, double> result;
  if (protocol_of(fd) != IPPROTO_SCTP) return result;
  for (const auto& figure : Association(fd)->statistics()) result[figure.name] = figure.value;
  return result;
}

std::chrono::nanoseconds thin_flow_gap(const TransportOptions& options) {
  const bool asks = options.transport == Transport::kSctp && options.settings.sctp.i_bit;
  return asks ? std::chrono::nanoseconds(kSctpThinFlowGap) : std::chrono::nanoseconds(0);
}

}  // namespace simco::net
