// Network namespaces, sockets in them, and a router between two networks. Namespaces have no names
// and go with the process that made them, however it ends.
#pragma once

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <chrono>
#include <exception>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/patience.hpp"

namespace simco::test {

/// For main(), before there is a second thread: a user other than root becomes root of a user
/// namespace, where network namespaces can be made. False where the machine forbids that.
bool become_able_to_make_namespaces();

class Cable;

class NetworkNamespace {
 public:
  NetworkNamespace();
  ~NetworkNamespace();
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
        enter();
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
  void shell(const std::string& command) const;
  /// The output of `command`.
  std::string output(const std::string& command) const;
  std::string path() const;
  /// Waits until packets can be sent from all IPv6 addresses.
  void wait_for_addresses() const;

 private:
  int descriptor_ = -1;
};

/// An address and a port, IPv4 or IPv6.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;

  bool ipv6() const { return address.contains(':'); }
  sockaddr_storage raw() const;
  static Endpoint of(const sockaddr_storage& storage);
};
void PrintTo(const Endpoint& endpoint, std::ostream* out);

/// How long we wait for a packet that must not come.
inline constexpr std::chrono::milliseconds kStaysAway{60};

class Socket {
 public:
  Socket(const NetworkNamespace& host, int type, const Endpoint& local);
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Socket();
  int descriptor() const { return descriptor_; }
  bool readable(std::chrono::milliseconds limit) const;
  static socklen_t size_of(const sockaddr_storage& raw) {
    return raw.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  }

 protected:
  int descriptor_ = -1;
};

class Udp : public Socket {
 public:
  Udp(const NetworkNamespace& host, const Endpoint& local) : Socket(host, SOCK_DGRAM, local) {}

  void send(const Endpoint& to, const std::string& text = "x") const;
  /// Sends a packet that is like no other. Returns its contents.
  std::string send_one(const Endpoint& to) const;
  struct Packet {
    std::string text;
    Endpoint from;
  };
  std::optional<Packet> receive(std::chrono::milliseconds limit) const;
  /// Waits for the packet with this text, past others. Returns where it seems to come from.
  std::optional<Endpoint> receive_one(const std::string& text,
                                      std::chrono::milliseconds limit = kPatience) const;
  /// The packet that `from` sends to `to` arrives here: where it seems to come from.
  std::optional<Endpoint> gets(const Udp& from, const Endpoint& to) const;
  /// gets() means two packets, of which the router's stack sees the first only, if the fast path
  /// takes such ones: both arrive, and seem to come from the same.
  static void expect_pairs(bool pairs) { pairs_ = pairs; }
  /// The packet that `from` sends to `to` does not arrive here. Late packets from before do not
  /// count.
  bool misses(const Udp& from, const Endpoint& to) const {
    return !receive_one(from.send_one(to), kStaysAway);
  }
  /// The errno that an ICMP error has led to, if one comes.
  int error() const;

 private:
  static inline bool pairs_ = false;
};

class TcpListener : public Socket {
 public:
  TcpListener(const NetworkNamespace& host, const Endpoint& local);
  std::optional<std::pair<Socket, Endpoint>> accept() const;
};

class Tcp : public Socket {
 public:
  Tcp(const NetworkNamespace& host, const Endpoint& local);
  bool connect(const Endpoint& to, std::chrono::milliseconds limit = kPatience) const;
};

/// Text from one end of a connection to the other.
bool passes(const Socket& from, const Socket& to, std::chrono::milliseconds limit = kPatience);

/// An internal host, a router, and an external host with two addresses.
struct Network {
  NetworkNamespace router;
  NetworkNamespace inside;
  NetworkNamespace outside;

  Network();
  ~Network();
  /// Connects the internal host again, after the router's interface is gone.
  void wire_inside();
  /// Connects both hosts by network cards in place of veths, which XDP finds different.
  void use_cards();
  /// Has the veths send and receive as network cards do: the fast path takes no other packets.
  void make_fast() const;
  /// Returns the missing condition for the fast path on this machine, if any.
  static std::optional<std::string> lacks_fast_path();

 private:
  void wire(const std::string& name, const NetworkNamespace& host);
  void wire_outside();

  bool cards_ = false;
  std::map<std::string, std::unique_ptr<Cable>> cables_;  ///< by the router's interface
};

}  // namespace simco::test
