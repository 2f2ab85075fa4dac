// Network namespaces, sockets in them, and a router between two networks. Namespaces have no names
// and go with the process that made them, whatever becomes of it.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace simco::test {

/// For main(), before there is a second thread: someone who is not root becomes root of a user
/// namespace, where network namespaces can be made. False where the machine forbids that.
inline bool become_able_to_make_namespaces() {
  if (::geteuid() == 0) return true;
  const auto user = std::to_string(::geteuid());
  const auto group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  return true;
}

class NetworkNamespace {
 public:
  NetworkNamespace() {
    std::thread([this] {
      if (::unshare(CLONE_NEWNET) == 0) {
        descriptor_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
      }
    }).join();
    if (descriptor_ < 0) throw std::runtime_error("no network namespace can be made");
    // Addresses are usable at once.
    shell(
        "ip link set lo up; for c in default all; do echo 0 > "
        "/proc/sys/net/ipv6/conf/$c/accept_dad;"
        "done; echo 0 > /proc/sys/net/ipv6/conf/default/router_solicitations");
  }
  ~NetworkNamespace() { ::close(descriptor_); }
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  /// Runs `work` in this namespace; sockets and processes that it makes stay there.
  template <class Work>
  auto run(Work work) const {
    using Result = std::invoke_result_t<Work>;
    std::exception_ptr failure;
    std::optional<std::conditional_t<std::is_void_v<Result>, bool, Result>> result;
    std::thread([&] {
      try {
        if (::setns(descriptor_, CLONE_NEWNET) != 0) throw std::runtime_error("setns");
        if constexpr (std::is_void_v<Result>)
          work();
        else
          result.emplace(work());
      } catch (...) {
        failure = std::current_exception();
      }
    }).join();
    if (failure) std::rethrow_exception(failure);
    if constexpr (!std::is_void_v<Result>) return std::move(*result);
  }
  /// Moves the calling thread here for good.
  void enter() const {
    if (::setns(descriptor_, CLONE_NEWNET) != 0) throw std::runtime_error("setns");
  }
  void shell(const std::string& command) const {
    const int code = run([&] { return std::system(command.c_str()); });
    if (code != 0) throw std::runtime_error("failed: " + command);
  }
  /// What `command` prints.
  std::string output(const std::string& command) const {
    return run([&] {
      std::string text;
      FILE* pipe = ::popen(command.c_str(), "r");
      char part[4096];
      while (const auto count = ::fread(part, 1, sizeof part, pipe)) text.append(part, count);
      ::pclose(pipe);
      return text;
    });
  }
  std::string path() const {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_);
  }

 private:
  int descriptor_ = -1;
};

/// An address and a port, IPv4 or IPv6.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;

  bool ipv6() const { return address.find(':') != std::string::npos; }
  sockaddr_storage raw() const {
    sockaddr_storage storage{};
    if (ipv6()) {
      auto& six = reinterpret_cast<sockaddr_in6&>(storage);
      six.sin6_family = AF_INET6;
      six.sin6_port = htons(port);
      ::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr);
    } else {
      auto& four = reinterpret_cast<sockaddr_in&>(storage);
      four.sin_family = AF_INET;
      four.sin_port = htons(port);
      ::inet_pton(AF_INET, address.c_str(), &four.sin_addr);
    }
    return storage;
  }
  static Endpoint of(const sockaddr_storage& storage) {
    char text[INET6_ADDRSTRLEN] = {};
    if (storage.ss_family == AF_INET6) {
      const auto& six = reinterpret_cast<const sockaddr_in6&>(storage);
      ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
      return {text, ntohs(six.sin6_port)};
    }
    const auto& four = reinterpret_cast<const sockaddr_in&>(storage);
    ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
    return {text, ntohs(four.sin_port)};
  }
};
inline void PrintTo(const Endpoint& endpoint, std::ostream* out) {
  *out << '[' << endpoint.address << "]:" << endpoint.port;
}

/// How long a packet that is let through may take, and how long we wait for one that must not come.
inline constexpr std::chrono::milliseconds kArrives{3000};
inline constexpr std::chrono::milliseconds kStaysAway{60};

class Socket {
 public:
  Socket(const NetworkNamespace& host, int type, const Endpoint& local) {
    descriptor_ = host.run([&] {
      const int made = ::socket(local.ipv6() ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
      const int one = 1;
      ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      const int room = 16 << 20;  // what is not read at once must not count as lost
      ::setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
      const auto raw = local.raw();
      if (::bind(made, reinterpret_cast<const sockaddr*>(&raw), size_of(raw)) != 0) {
        throw std::runtime_error("bind to " + local.address + ": " + std::strerror(errno));
      }
      return made;
    });
  }
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }
  bool readable(std::chrono::milliseconds limit) const {
    pollfd ready{descriptor_, POLLIN, 0};
    return ::poll(&ready, 1, static_cast<int>(limit.count())) == 1;
  }
  static socklen_t size_of(const sockaddr_storage& raw) {
    return raw.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  }

 protected:
  int descriptor_ = -1;
};

class Udp : public Socket {
 public:
  Udp(const NetworkNamespace& host, const Endpoint& local) : Socket(host, SOCK_DGRAM, local) {}

  void send(const Endpoint& to, const std::string& text = "x") const {
    const auto raw = to.raw();
    static_cast<void>(::sendto(descriptor_, text.data(), text.size(), 0,
                               reinterpret_cast<const sockaddr*>(&raw), size_of(raw)));
  }
  struct Packet {
    std::string text;
    Endpoint from;
  };
  std::optional<Packet> receive(std::chrono::milliseconds limit) const {
    if (!readable(limit)) return std::nullopt;
    char text[2048];
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const auto count =
        ::recvfrom(descriptor_, text, sizeof text, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (count < 0) return std::nullopt;
    return Packet{{text, static_cast<std::size_t>(count)}, Endpoint::of(from)};
  }
  /// The packet that `from` sends to `to` arrives here: where it seems to come from.
  std::optional<Endpoint> gets(const Udp& from, const Endpoint& to) const {
    static int count = 0;
    const auto text = "packet " + std::to_string(++count);
    from.send(to, text);
    while (const auto packet = receive(kArrives)) {
      if (packet->text == text) return packet->from;
    }
    return std::nullopt;
  }
  bool misses(const Udp& from, const Endpoint& to) const {
    from.send(to, "not to arrive");
    return !receive(kStaysAway);
  }
  /// The errno that an ICMP error has led to, if one comes.
  int error(std::chrono::milliseconds limit) const {
    pollfd ready{descriptor_, 0, 0};
    ::poll(&ready, 1, static_cast<int>(limit.count()));
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
  }
};

class TcpListener : public Socket {
 public:
  TcpListener(const NetworkNamespace& host, const Endpoint& local)
      : Socket(host, SOCK_STREAM, local) {
    ::listen(descriptor_, 16);
  }
  std::optional<std::pair<Socket, Endpoint>> accept() const {
    if (!readable(kArrives)) return std::nullopt;
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const int made = ::accept(descriptor_, reinterpret_cast<sockaddr*>(&from), &size);
    return std::pair(Socket(made), Endpoint::of(from));
  }
};

class Tcp : public Socket {
 public:
  Tcp(const NetworkNamespace& host, const Endpoint& local) : Socket(host, SOCK_STREAM, local) {
    ::fcntl(descriptor_, F_SETFL, O_NONBLOCK);
  }
  bool connect(const Endpoint& to, std::chrono::milliseconds limit = kArrives) const {
    const auto raw = to.raw();
    ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&raw), size_of(raw));
    pollfd ready{descriptor_, POLLOUT, 0};
    if (::poll(&ready, 1, static_cast<int>(limit.count())) != 1) return false;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0;
  }
};

/// Text from one end of a connection to the other.
inline bool passes(const Socket& from, const Socket& to,
                   std::chrono::milliseconds limit = kArrives) {
  char octet = 'x';
  if (::send(from.descriptor(), &octet, 1, MSG_NOSIGNAL) != 1) return false;
  return to.readable(limit) && ::recv(to.descriptor(), &octet, 1, 0) == 1;
}

/// An internal host, a router, and an external host with two addresses.
struct Network {
  NetworkNamespace router;
  NetworkNamespace inside;
  NetworkNamespace outside;

  Network() {
    wire("int0", inside);
    wire("ext0", outside);
    router.shell(
        "ip addr add 10.0.0.1/24 dev int0; ip addr add 2001:db8:1::1/64 dev int0 nodad;"
        "ip addr add 192.0.2.1/24 dev ext0; ip addr add 2001:db8:2::1/64 dev ext0 nodad;"
        "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding");
    inside.shell(
        "for a in 10.0.0.2/24 10.0.0.3/24; do ip addr add $a dev eth0; done;"
        "for a in 2001:db8:1::2/64 2001:db8:1::3/64; do ip addr add $a dev eth0 nodad; done;"
        "ip route add default via 10.0.0.1; ip -6 route add default via 2001:db8:1::1");
    outside.shell(
        "for a in 192.0.2.2/24 192.0.2.3/24; do ip addr add $a dev eth0; done;"
        "for a in 2001:db8:2::2/64 2001:db8:2::3/64; do ip addr add $a dev eth0 nodad; done;"
        "ip route add default via 192.0.2.1; ip -6 route add default via 2001:db8:2::1");
  }

 private:
  void wire(const std::string& name, const NetworkNamespace& host) {
    router.shell("ip link add " + name + " type veth peer name eth0 && ip link set eth0 netns " +
                 host.path() + " && ip link set " + name + " up");
    host.shell("ip link set eth0 up");
  }
};

}  // namespace simco::test
