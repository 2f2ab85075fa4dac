#include "tests/support/network.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ostream>

#include "tests/support/cable.hpp"

namespace simco::test {

bool become_able_to_make_namespaces() {
  if (::geteuid() == 0) return true;
  const auto user = std::to_string(::geteuid());
  const auto group = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  return true;
}

// --- Namespaces ----------------------------------------------------------------------------------

NetworkNamespace::NetworkNamespace() {
  std::thread([this] {
    if (::unshare(CLONE_NEWNET) == 0) {
      descriptor_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    }
  }).join();
  if (descriptor_ < 0) throw std::runtime_error("no network namespace can be made");
  // Addresses are usable at once, and rp_filter is not as on the machine itself.
  shell(
      "ip link set lo up; for c in default all; do echo 0 > "
      "/proc/sys/net/ipv6/conf/$c/accept_dad;"
      "echo 0 > /proc/sys/net/ipv4/conf/$c/rp_filter; done; echo 0 > "
      "/proc/sys/net/ipv6/conf/default/router_solicitations");
}

NetworkNamespace::~NetworkNamespace() { ::close(descriptor_); }

void NetworkNamespace::shell(const std::string& command) const {
  const int code = run([&] { return std::system(command.c_str()); });
  if (code != 0) throw std::runtime_error("failed: " + command);
}

std::string NetworkNamespace::output(const std::string& command) const {
  return run([&] {
    std::string text;
    FILE* pipe = ::popen(command.c_str(), "r");
    char part[4096];
    while (const auto count = ::fread(part, 1, sizeof part, pipe)) text.append(part, count);
    ::pclose(pipe);
    return text;
  });
}

// A link-local address is tentative until the kernel's worker has looked at it, and until then
// nothing asks for a neighbour: packets are lost.
void NetworkNamespace::wait_for_addresses() const {
  const auto usable = [] {
    std::ifstream addresses("/proc/thread-self/net/if_inet6");
    std::string address;
    std::string name;
    unsigned index = 0, prefix = 0, scope = 0, flags = 0;
    while (addresses >> address >> std::hex >> index >> prefix >> scope >> flags >> name) {
      if ((flags & IFA_F_TENTATIVE) != 0) return false;
    }
    return true;
  };
  if (!run([&] { return eventually(usable); })) throw std::runtime_error("tentative addresses");
}

std::string NetworkNamespace::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(descriptor_);
}

// --- Endpoints -----------------------------------------------------------------------------------

sockaddr_storage Endpoint::raw() const {
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

Endpoint Endpoint::of(const sockaddr_storage& storage) {
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

void PrintTo(const Endpoint& endpoint, std::ostream* out) {
  *out << '[' << endpoint.address << "]:" << endpoint.port;
}

// --- Sockets -------------------------------------------------------------------------------------

Socket::Socket(const NetworkNamespace& host, int type, const Endpoint& local) {
  descriptor_ = host.run([&] {
    const int made = ::socket(local.ipv6() ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
    const int one = 1;
    ::setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    const int room = 16 << 20;  // packets that wait to be read must not count as lost
    ::setsockopt(made, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    const auto raw = local.raw();
    if (::bind(made, reinterpret_cast<const sockaddr*>(&raw), size_of(raw)) != 0) {
      throw std::runtime_error("bind to " + local.address + ": " + std::strerror(errno));
    }
    return made;
  });
}

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool Socket::readable(std::chrono::milliseconds limit) const {
  pollfd ready{descriptor_, POLLIN, 0};
  return ::poll(&ready, 1, static_cast<int>(limit.count())) == 1;
}

void Udp::send(const Endpoint& to, const std::string& text) const {
  const auto raw = to.raw();
  static_cast<void>(::sendto(descriptor_, text.data(), text.size(), 0,
                             reinterpret_cast<const sockaddr*>(&raw), size_of(raw)));
}

std::string Udp::send_one(const Endpoint& to) const {
  static int count = 0;
  auto text = "packet " + std::to_string(++count);
  send(to, text);
  return text;
}

std::optional<Udp::Packet> Udp::receive(std::chrono::milliseconds limit) const {
  if (!readable(limit)) return std::nullopt;
  char text[65536];
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  const auto count =
      ::recvfrom(descriptor_, text, sizeof text, 0, reinterpret_cast<sockaddr*>(&from), &size);
  if (count < 0) return std::nullopt;
  return Packet{{text, static_cast<std::size_t>(count)}, Endpoint::of(from)};
}

std::optional<Endpoint> Udp::receive_one(const std::string& text,
                                         std::chrono::milliseconds limit) const {
  while (const auto packet = receive(limit)) {
    if (packet->text == text) return packet->from;
  }
  return std::nullopt;
}

std::optional<Endpoint> Udp::gets(const Udp& from, const Endpoint& to) const {
  const auto first = receive_one(from.send_one(to));
  if (!first || !pairs_) return first;
  const auto second = receive_one(from.send_one(to));
  return second == first ? second : std::nullopt;
}

int Udp::error() const {
  pollfd ready{descriptor_, 0, 0};
  ::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count()));
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

TcpListener::TcpListener(const NetworkNamespace& host, const Endpoint& local)
    : Socket(host, SOCK_STREAM, local) {
  ::listen(descriptor_, 16);
}

std::optional<std::pair<Socket, Endpoint>> TcpListener::accept() const {
  if (!readable(kPatience)) return std::nullopt;
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  const int made = ::accept(descriptor_, reinterpret_cast<sockaddr*>(&from), &size);
  return std::pair(Socket(made), Endpoint::of(from));
}

Tcp::Tcp(const NetworkNamespace& host, const Endpoint& local) : Socket(host, SOCK_STREAM, local) {
  ::fcntl(descriptor_, F_SETFL, O_NONBLOCK);
}

bool Tcp::connect(const Endpoint& to, std::chrono::milliseconds limit) const {
  const auto raw = to.raw();
  ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&raw), size_of(raw));
  pollfd ready{descriptor_, POLLOUT, 0};
  if (::poll(&ready, 1, static_cast<int>(limit.count())) != 1) return false;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(descriptor_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0;
}

bool passes(const Socket& from, const Socket& to, std::chrono::milliseconds limit) {
  char octet = 'x';
  if (::send(from.descriptor(), &octet, 1, MSG_NOSIGNAL) != 1) return false;
  return to.readable(limit) && ::recv(to.descriptor(), &octet, 1, 0) == 1;
}

// --- The network ---------------------------------------------------------------------------------

Network::Network() {
  wire_inside();
  wire_outside();
  router.shell(
      "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding");
  for (const auto* host : {&router, &inside, &outside}) host->wait_for_addresses();
}

Network::~Network() = default;

void Network::wire_inside() {
  wire("int0", inside);
  router.shell("ip addr add 10.0.0.1/24 dev int0; ip addr add 2001:db8:1::1/64 dev int0 nodad");
  inside.shell(
      "for a in 10.0.0.2/24 10.0.0.3/24; do ip addr add $a dev eth0; done;"
      "for a in 2001:db8:1::2/64 2001:db8:1::3/64; do ip addr add $a dev eth0 nodad; done;"
      "ip route add default via 10.0.0.1; ip -6 route add default via 2001:db8:1::1");
}

void Network::wire_outside() {
  wire("ext0", outside);
  router.shell("ip addr add 192.0.2.1/24 dev ext0; ip addr add 2001:db8:2::1/64 dev ext0 nodad");
  outside.shell(
      "for a in 192.0.2.2/24 192.0.2.3/24; do ip addr add $a dev eth0; done;"
      "for a in 2001:db8:2::2/64 2001:db8:2::3/64; do ip addr add $a dev eth0 nodad; done;"
      "ip route add default via 192.0.2.1; ip -6 route add default via 2001:db8:2::1");
}

void Network::use_cards() {
  router.shell("ip link del int0; ip link del ext0");
  cards_ = true;
  wire_inside();
  wire_outside();
  for (const auto* host : {&router, &inside, &outside}) host->wait_for_addresses();
}

void Network::make_fast() const {
  if (cards_) return;
  for (const auto* host : {&inside, &outside})
    host->shell("ethtool -K eth0 gro on tx off txvlan off tx-vlan-stag-hw-insert off >/dev/null");
  for (const std::string name : {"int0", "ext0"})
    router.shell("ethtool -K " + name + " rxvlan off rx-vlan-stag-hw-parse off >/dev/null");
}

std::optional<std::string> Network::lacks_fast_path() {
  std::uint64_t first = 0, in_parent = 0, count = 0;
  std::ifstream("/proc/self/uid_map") >> first >> in_parent >> count;
  const bool is_root = ::geteuid() == 0 && count > 1;
  if (!is_root) return "only root, not that of a user namespace, can load BPF programs";
  return std::nullopt;
}

void Network::wire(const std::string& name, const NetworkNamespace& host) {
  if (cards_) {
    cables_[name].reset();
    cables_[name] = std::make_unique<Cable>(Cable::Card{router, name}, Cable::Card{host, "eth0"});
  } else {
    router.shell("ip link add " + name + " type veth peer name eth0 && ip link set eth0 netns " +
                 host.path());
  }
  router.shell("ip link set " + name + " up");
  host.shell("ip link set eth0 up");
}

}  // namespace simco::test
