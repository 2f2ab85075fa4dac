#include "loadgen/replay/sockets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "simco/net/limits.hpp"
#include "simco/net/sctp/kernel.hpp"

namespace simco::loadgen::replay {
namespace {

void set(int fd, int level, int name, int value) {
  must(::setsockopt(fd, level, name, &value, sizeof value), "cannot set an option of a socket");
}

sockaddr_in name_of(const Place& place) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(place.port);
  if (::inet_pton(AF_INET, place.address.c_str(), &name.sin_addr) != 1) {
    throw std::runtime_error("a replay needs IPv4 addresses, got " + place.address);
  }
  return name;
}

/// As TcpChannel has it.
void set_tcp_options(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

Descriptor opened(net::Transport transport, const net::SctpOptions& sctp) {
  if (transport == net::Transport::kSctp) {
    const auto fd = net::sctp::open_kernel_socket(AF_INET, sctp);
    if (!fd) throw std::runtime_error("cannot open a socket: " + fd.error().message());
    return Descriptor(*fd);
  }
  const bool udp = transport == net::Transport::kUdp;
  Descriptor socket(
      must(::socket(AF_INET, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
           "cannot open a socket"));
  if (udp) {  // as DatagramPort
    set(socket.get(), SOL_SOCKET, SO_RCVBUFFORCE, net::kDatagramSocketBuffer);
    set(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, net::kDatagramSocketBuffer);
  }
  return socket;
}

void wait_for(const Descriptor& socket, short events, int limit_ms) {
  pollfd one{socket.get(), events, 0};
  while (::poll(&one, 1, limit_ms) < 0 && errno == EINTR) {
  }
}

/// Another descriptor of an association, to ask for what it knows.
class Association {
 public:
  explicit Association(const Descriptor& socket)
      : socket_(io_.get_executor(), must(::dup(socket.get()), "cannot ask for an association")) {}
  ~Association() { socket_.close(); }  // else it would be aborted
  Association(const Association&) = delete;
  Association& operator=(const Association&) = delete;
  const net::sctp::KernelSocket* operator->() const { return &socket_; }

 private:
  boost::asio::io_context io_;
  net::sctp::KernelSocket socket_;
};

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

int must(int result, const std::string& what) {
  if (result < 0) fail(what);
  return result;
}

Descriptor connected(const net::TransportOptions& options, const Place& to) {
  Descriptor socket = opened(options.transport, options.settings.sctp);
  const auto name = name_of(to);
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  if (::connect(socket.get(), address, sizeof name) != 0) {
    if (errno != EINPROGRESS) fail("cannot connect");
    wait_for(socket, POLLOUT, -1);
    socklen_t size = sizeof errno;
    must(::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &errno, &size), "cannot connect");
    if (errno != 0) fail("cannot connect");
  }
  if (options.transport == net::Transport::kTcp) set_tcp_options(socket.get());
  return socket;
}

Descriptor listening(net::Transport transport, const net::SctpOptions& options, const Place& at) {
  Descriptor socket = opened(transport, options);
  const bool udp = transport == net::Transport::kUdp;
  if (!udp) set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  const auto name = name_of(at);
  must(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name),
       "cannot bind " + at.address);
  if (!udp) must(::listen(socket.get(), net::kListenBacklog), "cannot listen");
  return socket;
}

Descriptor accepted(const Descriptor& from, net::Transport transport,
                    const net::SctpOptions& options) {
  Descriptor socket(
      must(::accept4(from.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC), "cannot accept"));
  if (transport == net::Transport::kTcp) set_tcp_options(socket.get());
  if (transport == net::Transport::kSctp) net::sctp::set_kernel_options(socket.get(), options);
  return socket;
}

Place local_place(const Descriptor& socket) {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  must(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size), "no local address");
  std::array<char, INET_ADDRSTRLEN> text{};
  return {::inet_ntop(AF_INET, &name.sin_addr, text.data(), text.size()), ntohs(name.sin_port)};
}

void end(const Descriptor& socket) {
  if (::shutdown(socket.get(), SHUT_WR) != 0) return;
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(net::kCloseTimeout);
  wait_for(socket, POLLRDHUP, static_cast<int>(limit.count()));
}

std::uint16_t streams(const Descriptor& socket, net::Transport transport) {
  return transport == net::Transport::kSctp ? Association(socket)->ends().outbound_streams : 1;
}

nlohmann::ordered_json figures(const Descriptor& socket, net::Transport transport) {
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  if (transport == net::Transport::kTcp) {
    tcp_info info{};
    socklen_t size = sizeof info;
    must(::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size), "no TCP_INFO");
    result["cwnd_segments"] = static_cast<double>(info.tcpi_snd_cwnd);
    result["mss_octets"] = static_cast<double>(info.tcpi_snd_mss);
  } else if (transport == net::Transport::kSctp) {
    for (const auto& figure : Association(socket)->statistics()) {
      result[figure.name] = figure.value;
    }
  }
  return result;
}

}  // namespace simco::loadgen::replay
