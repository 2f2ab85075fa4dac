// Binds, listens and connects with the kernel's sockets, and finds out whether the kernel has
// SCTP, encapsulates it, and grants the buffers.
#include "simco/net/sctp/kernel.hpp"

#include <netinet/in.h>
#include <netinet/sctp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/sctp/channel.hpp"
#include "simco/net/sctp/limits.hpp"

namespace simco::net::sctp {
namespace {

using boost::asio::ip::address;
using boost::system::error_code;
using Descriptor = boost::asio::posix::stream_descriptor;

/// Addresses as sctp_bindx() and sctp_connectx() take them: structures in sequence.
std::vector<std::byte> packed(const std::vector<address>& addresses, std::uint16_t port) {
  std::vector<std::byte> result;
  for (const auto& one : addresses) {
    const boost::asio::ip::tcp::endpoint endpoint(one, port);
    const auto* octets = reinterpret_cast<const std::byte*>(endpoint.data());
    result.insert(result.end(), octets, octets + endpoint.size());
  }
  return result;
}

int family_of(const std::vector<address>& addresses) {
  return std::ranges::any_of(addresses, &address::is_v6) ? AF_INET6 : AF_INET;
}

std::uint16_t bound_port(int fd) {
  boost::asio::ip::tcp::endpoint local;  // for its addresses only
  auto size = static_cast<socklen_t>(local.capacity());
  if (::getsockname(fd, local.data(), &size) != 0) return 0;
  local.resize(size);
  return local.port();
}

/// Binds to all of `addresses`; if the port is 0, the others take the port of the first.
error_code bind_all(int fd, const std::vector<address>& addresses, std::uint16_t port) {
  for (const auto& one : addresses) {
    auto octets = packed({one}, port);
    auto* where = reinterpret_cast<sockaddr*>(octets.data());
    if (::sctp_bindx(fd, where, 1, SCTP_BINDX_ADD_ADDR) != 0) return last_system_error();
    if (port == 0) port = bound_port(fd);
  }
  return {};
}

error_code set_encapsulation(int fd, std::uint16_t remote_port) {
  if (kernel_udp_port() == 0) return NetError::kNoKernelEncaps;
  sctp_udpencaps encaps{};
  encaps.sue_port = htons(remote_port);
  if (::setsockopt(fd, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof encaps) != 0) {
    return last_system_error();
  }
  return {};
}

class KernelListener final : public Listener {
 public:
  KernelListener(const boost::asio::any_io_executor& executor, int fd,
                 const std::vector<address>& addresses, const SctpOptions& options,
                 ReadBuffer& read_buffer, OnAccept on_accept, OnError on_error)
      : descriptor_(executor, fd),
        pause_(executor),
        addresses_(addresses),
        options_(options),
        read_buffer_(read_buffer),
        on_accept_(std::move(on_accept)),
        on_error_(std::move(on_error)),
        port_(bound_port(fd)) {
    wait();
  }

  void stop() override {
    stopped_ = true;
    error_code ignored;
    descriptor_.close(ignored);
    pause_.cancel();
  }
  Transport transport() const override { return Transport::kSctp; }
  std::uint16_t port() const override { return port_; }
  std::vector<std::string> endpoints() const override {
    std::vector<std::string> result;
    for (const auto& one : addresses_) result.push_back(endpoint_text(one.to_string(), port_));
    return result;
  }

 private:
  void wait() {
    descriptor_.async_wait(Descriptor::wait_read, [this](const error_code& error) {
      if (!error && !stopped_) accept();
    });
  }

  void accept() {
    for (int i = 0; i < kAcceptBurst && !stopped_; ++i) {
      const int fd =
          ::accept4(descriptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        set_kernel_options(fd, options_);
        take(std::make_unique<KernelSocket>(pause_.get_executor(), fd));
        continue;
      }
      if (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR) break;
      on_error_(last_system_error());
      pause_.expires_after(kAcceptPause);
      return pause_.async_wait([this](const error_code& aborted) {
        if (!aborted && !stopped_) wait();
      });
    }
    if (!stopped_) wait();
  }

  void take(std::unique_ptr<Socket> socket) {
    on_accept_(std::make_shared<Channel>(std::move(socket), read_buffer_, options_,
                                         [this](std::unique_ptr<Socket> again) {
                                           if (!stopped_) take(std::move(again));
                                         }));
  }

  Descriptor descriptor_;
  boost::asio::steady_timer pause_;
  std::vector<address> addresses_;
  SctpOptions options_;
  ReadBuffer& read_buffer_;
  OnAccept on_accept_;
  OnError on_error_;
  std::uint16_t port_;
  bool stopped_ = false;
};

}  // namespace

bool kernel_has_sctp() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

bool use_kernel(const SctpOptions& options) {
  return options.stack == SctpStack::kKernel ||
         (options.stack == SctpStack::kAuto && kernel_has_sctp());
}

std::uint16_t kernel_udp_port() {
  std::ifstream file("/proc/sys/net/sctp/udp_port");
  std::uint16_t port = 0;
  file >> port;
  return file ? port : 0;
}

bool kernel_grants_buffers(const SctpOptions& options) {
  const auto fd = open_kernel_socket(AF_INET, options);
  if (!fd) return false;
  const auto wanted = options.buffer == 0 ? kKernelSctpBuffer : options.buffer;
  bool granted = true;
  for (const int name : {SO_RCVBUF, SO_SNDBUF}) {
    int octets = 0;
    socklen_t size = sizeof octets;
    granted = granted && ::getsockopt(*fd, SOL_SOCKET, name, &octets, &size) == 0 &&
              static_cast<std::uint32_t>(octets) >= wanted;
  }
  ::close(*fd);
  return granted;
}

std::expected<std::unique_ptr<Socket>, error_code> connect_kernel(
    const boost::asio::any_io_executor& executor, const std::vector<address>& addresses,
    std::uint16_t port, const std::vector<address>& local, const SctpOptions& options) {
  auto all = addresses;
  all.insert(all.end(), local.begin(), local.end());
  const auto fd = open_kernel_socket(family_of(all), options);
  if (!fd) return std::unexpected(fd.error());
  auto socket = std::make_unique<KernelSocket>(executor, *fd);
  if (options.kernel_encaps && options.udp_encaps != 0) {
    if (const auto error = set_encapsulation(*fd, options.udp_encaps)) {
      return std::unexpected(error);
    }
  }
  if (const auto error = bind_all(*fd, local, 0)) return std::unexpected(error);
  auto peers = packed(addresses, port);
  const int count = static_cast<int>(addresses.size());
  const int result =
      ::sctp_connectx(*fd, reinterpret_cast<sockaddr*>(peers.data()), count, nullptr);
  if (result != 0 && errno != EINPROGRESS) return std::unexpected(last_system_error());
  return socket;
}

std::unique_ptr<Listener> listen_kernel(const boost::asio::any_io_executor& executor,
                                        const std::vector<address>& addresses, std::uint16_t port,
                                        const SctpOptions& options, ReadBuffer& read_buffer,
                                        Listener::OnAccept on_accept, Listener::OnError on_error) {
  const auto fd = open_kernel_socket(family_of(addresses), options);
  if (!fd) throw boost::system::system_error(fd.error());
  const auto check = [&](const error_code& error) {
    if (!error) return;
    ::close(*fd);
    throw boost::system::system_error(error);
  };
  const int on = 1;
  // Associations of a predecessor that are still ending do not keep the port.
  ::setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (addresses.size() == 1 && addresses.front().is_v6()) {
    // So that 0.0.0.0 and :: can both be listened on.
    ::setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  check(bind_all(*fd, addresses, port));
  check(::listen(*fd, kListenBacklog) == 0 ? error_code{} : last_system_error());
  return std::make_unique<KernelListener>(executor, *fd, addresses, options, read_buffer,
                                          std::move(on_accept), std::move(on_error));
}

}  // namespace simco::net::sctp
