// The part of a SIP proxy in benchmarks of media proxies: requests of the ng protocol, and the wait
// for their replies.
#pragma once

#include <poll.h>
#include <sys/resource.h>

#include <optional>
#include <string_view>

#include "tests/bench/session_driver.hpp"
#include "tests/support/network.hpp"

namespace simco::bench {

inline constexpr std::uint16_t kNgPort = 17'713;
inline constexpr std::size_t kCommands = 3;
inline constexpr std::array<const char*, kCommands> kNames = {"offer", "answer", "delete"};

inline std::string bencoded(std::string_view value) {
  return std::to_string(value.size()) + ":" + std::string(value);
}

inline std::string sdp(const char* address, std::size_t port) {
  return "v=0\r\no=- 1 1 IN IP4 " + std::string(address) + "\r\ns=-\r\nc=IN IP4 " + address +
         "\r\nt=0 0\r\nm=audio " + std::to_string(port) +
         " RTP/AVP 0 8\r\na=rtpmap:0 PCMU/8000\r\n";
}

/// Request `command` of call `call`, in bencode, as Kamailio sends it.
inline std::string ng_request(std::size_t command, std::size_t call, const std::string& sdp) {
  std::string result = std::to_string(command) + "_" + std::to_string(call) + " d7:command" +
                       bencoded(kNames[command]) + "7:call-id" +
                       bencoded("call-" + std::to_string(call)) + "8:from-tag1:a";
  if (command != 0) result += "6:to-tag1:b";
  // rtpengine would keep the ports for half a minute.
  if (command == 2) return result + "12:delete delayi0ee";
  return result + "3:sdp" + bencoded(sdp) + "e";
}

struct Reply {
  std::size_t command = 0;
  std::size_t call = 0;
  std::uint16_t port = 0;  ///< of its SDP's first medium
};

class Proxy {
 public:
  Proxy() : descriptor_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    const int room = 16 << 20;
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    const auto address = loopback(kNgPort);
    if (::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      die("connect");
  }
  ~Proxy() { ::close(descriptor_); }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  void send(const std::string& datagram) const {
    // Refused while the server is still starting.
    (void)::send(descriptor_, datagram.data(), datagram.size(), 0);
  }
  /// Waits until there is a reply. Ends the program if one is an error.
  std::optional<Reply> receive(std::chrono::nanoseconds limit) const {
    pollfd ready{descriptor_, POLLIN, 0};
    const auto wait = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timespec time{wait.count(), (limit - wait).count()};
    if (::ppoll(&ready, 1, &time, nullptr) <= 0) return std::nullopt;
    std::array<char, 65536> octets;
    const auto got = ::recv(descriptor_, octets.data(), octets.size() - 1, 0);
    if (got <= 0) return std::nullopt;
    octets[static_cast<std::size_t>(got)] = 0;
    const std::string_view reply(octets.data(), static_cast<std::size_t>(got));
    if (!reply.contains("6:result2:ok") && !reply.contains("6:result4:pong")) {
      std::fprintf(stderr, "refused: %.*s\n", static_cast<int>(got), octets.data());
      std::exit(1);
    }
    Reply result;
    std::sscanf(octets.data(), "%zu_%zu", &result.command, &result.call);
    constexpr std::string_view kMedium = "m=audio ";
    if (const auto medium = reply.find(kMedium); medium != std::string_view::npos) {
      result.port = static_cast<std::uint16_t>(std::atoi(octets.data() + medium + kMedium.size()));
    }
    return result;
  }

 private:
  int descriptor_;
};

/// Waits until the first request gets its reply: until then there may be no session.
inline void wait_until_ready(const Proxy& proxy) {
  using namespace std::chrono_literals;
  for (int attempt = 0; attempt < 500; ++attempt) {
    proxy.send(std::to_string(attempt) + "_ping d7:command4:pinge");
    if (proxy.receive(20ms)) break;
  }
  ::usleep(300'000);  // simco-ng opens its session
  while (proxy.receive(0ns)) {
  }
}

struct Arguments {
  std::string programs;  ///< their folder
  int rounds;
};

/// Reads the command line of a benchmark, which takes as many descriptors as there may be, since
/// rtpengine has a socket for each port, and makes network namespaces.
inline Arguments begin(int argc, char** argv, int rounds) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s path/to/programs [rounds]\n", argv[0]);
    std::exit(2);
  }
  ::signal(SIGPIPE, SIG_IGN);
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  if (!test::become_able_to_make_namespaces()) die("network namespaces");
  return {argv[1], argc > 2 ? std::max(1, std::atoi(argv[2])) : rounds};
}

inline double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

}  // namespace simco::bench
