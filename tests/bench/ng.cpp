// How fast offers, answers and deletes are replied to, in a network namespace of its own: by
// simco-ng in front of a middlebox, null and nftables, whose rules are there before the reply, and
// by rtpengine (Debian: rtpengine-daemon, without its kernel module), whose ports are.
//
//   bench-ng path/to/programs [rounds]
//
// First each command as fast as it goes, with a number of requests in flight; then the response
// times at 1,000 calls/s, each of which is offered, answered and, a second later, deleted. Servers
// are pinned to one core, the client to the other; all take turns. Prints medians, and ratios to
// rtpengine's of the same round.
#include <poll.h>
#include <sys/resource.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "tests/bench/session_driver.hpp"
#include "tests/support/network.hpp"

namespace {

using namespace simco::bench;
using namespace std::chrono_literals;

constexpr std::uint16_t kNgPort = 17'713;
constexpr std::size_t kCommands = 3;
constexpr std::array<const char*, kCommands> kNames = {"offer", "answer", "delete"};
constexpr std::size_t kCalls = 2000;       ///< of the first part: each takes rtpengine 4 sockets
constexpr std::size_t kWindow = 32;        ///< its requests in flight
constexpr std::size_t kPacedCalls = 5000;  ///< of the second part
constexpr auto kPace = 1ms;
constexpr auto kHeld = 1s;
constexpr auto kLost = 5s;  ///< a reply that is not there by then

// --- Requests ------------------------------------------------------------------------------------

std::string text(std::string_view value) {
  return std::to_string(value.size()) + ":" + std::string(value);
}

std::string sdp(const char* address, std::size_t call) {
  const auto port = std::to_string(2000 + 2 * (call % 30'000));
  return "v=0\r\no=- 1 1 IN IP4 " + std::string(address) + "\r\ns=-\r\nc=IN IP4 " + address +
         "\r\nt=0 0\r\nm=audio " + port + " RTP/AVP 0 8\r\na=rtpmap:0 PCMU/8000\r\n";
}

/// Request `command` of call `call`, in bencode, as Kamailio sends it.
std::string request(std::size_t command, std::size_t call) {
  std::string result = std::to_string(command) + "_" + std::to_string(call) + " d7:command" +
                       text(kNames[command]) + "7:call-id" + text("call-" + std::to_string(call)) +
                       "8:from-tag1:a";
  if (command != 0) result += "6:to-tag1:b";
  // rtpengine would keep the ports for half a minute.
  if (command == 2) return result + "12:delete delayi0ee";
  return result + "3:sdp" + text(sdp(command == 0 ? "10.0.0.5" : "192.0.2.7", call)) + "e";
}

struct Reply {
  std::size_t command = 0;
  std::size_t call = 0;
};

/// The proxy.
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
    const auto got = ::recv(descriptor_, octets.data(), octets.size(), 0);
    if (got <= 0) return std::nullopt;
    const std::string_view reply(octets.data(), static_cast<std::size_t>(got));
    if (!reply.contains("6:result2:ok") && !reply.contains("6:result4:pong")) {
      std::fprintf(stderr, "refused: %.*s\n", static_cast<int>(got), octets.data());
      std::exit(1);
    }
    Reply result;
    std::sscanf(octets.data(), "%zu_%zu", &result.command, &result.call);
    return result;
  }

 private:
  int descriptor_;
};

// --- Servers -------------------------------------------------------------------------------------

std::string programs;
int rounds = 5;

using Servers = std::vector<pid_t>;
struct Contender {
  const char* name;
  std::function<Servers()> start;
};

Servers start_simco(const char* backend) {
  std::vector<std::string> box = {programs + "/simco-middlebox", "--port", std::to_string(kPort),
                                  "--log-level", "error"};
  if (std::string_view(backend) == "nftables") {
    box.insert(box.end(), {"--backend", "nftables", "--internal-if", "int0", "--external-if",
                           "ext0", "--keep-rules=false"});
  }
  const auto middlebox = start(0, box);
  ::close(connect_to(kPort));
  return {start(0, {programs + "/simco-ng", "--listen", "127.0.0.1:" + std::to_string(kNgPort),
                    "--middlebox", "127.0.0.1:" + std::to_string(kPort), "--internal", "10.0.0.0/8",
                    "--log-level", "error"}),
          middlebox};
}

Servers start_rtpengine() {
  return {start(0, {"rtpengine", "--foreground", "--log-stderr", "--log-level=2", "--table=-1",
                    "--interface=127.0.0.1", "--listen-ng=127.0.0.1:" + std::to_string(kNgPort),
                    "--port-min=20000", "--port-max=59999", "--delete-delay=0"})};
}

/// Waits until the first offer gets its reply: until then there may be no session.
void wait_until_ready(const Proxy& proxy) {
  for (int attempt = 0; attempt < 500; ++attempt) {
    proxy.send(std::to_string(attempt) + "_ping d7:command4:pinge");
    if (proxy.receive(20ms)) break;
  }
  ::usleep(300'000);  // simco-ng opens its session
  while (proxy.receive(0ns)) {
  }
}

// --- As fast as it goes --------------------------------------------------------------------------

/// Returns how many of `command` a second.
double rate(const Proxy& proxy, std::size_t command) {
  const auto begin = Clock::now();
  std::size_t sent = 0;
  for (std::size_t done = 0; done < kCalls;) {
    for (; sent < kCalls && sent < done + kWindow; ++sent) proxy.send(request(command, sent));
    const auto reply = proxy.receive(kLost);
    if (!reply) {
      std::fprintf(stderr, "no reply to %s\n", kNames[command]);
      std::exit(1);
    }
    if (reply->command == command) ++done;
  }
  const std::chrono::duration<double> elapsed = Clock::now() - begin;
  return static_cast<double>(kCalls) / elapsed.count();
}

// --- At a given rate -----------------------------------------------------------------------------

using Times = std::array<std::vector<double>, kCommands>;  ///< microseconds

/// Call i is offered at i times kPace, without regard to the server, answered when the offer has
/// its reply, and deleted kHeld after the reply to that. A time is from when the request was due.
Times paced(const Proxy& proxy) {
  constexpr std::size_t kFirst = 100'000;  // other calls than before
  Times times;
  std::vector<Clock::time_point> due(kPacedCalls);
  std::deque<std::pair<Clock::time_point, std::size_t>> held;
  const auto begin = Clock::now() + 10ms;
  std::size_t offered = 0;
  while (times[2].size() < kPacedCalls) {
    const auto now = Clock::now();
    while (offered < kPacedCalls && begin + offered * kPace <= now) {
      due[offered] = begin + offered * kPace;
      proxy.send(request(0, kFirst + offered++));
    }
    while (!held.empty() && held.front().first <= now) {
      due[held.front().second] = held.front().first;
      proxy.send(request(2, kFirst + held.front().second));
      held.pop_front();
    }
    auto next = now + kLost;
    if (offered < kPacedCalls) next = begin + offered * kPace;
    if (!held.empty()) next = std::min(next, held.front().first);
    const auto reply = proxy.receive(std::max(next - Clock::now(), Clock::duration(0)));
    if (!reply) {
      if (Clock::now() < now + kLost) continue;
      std::fprintf(stderr, "replies are lost\n");
      std::exit(1);
    }
    const auto call = reply->call - kFirst;
    const auto at = Clock::now();
    times[reply->command].push_back(
        std::chrono::duration<double, std::micro>(at - due[call]).count());
    if (reply->command == 0) {
      due[call] = at;
      proxy.send(request(1, kFirst + call));
    } else if (reply->command == 1) {
      held.emplace_back(at + kHeld, call);
    }
  }
  return times;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

// --- The table -----------------------------------------------------------------------------------

/// Figures of all rounds, by name and by contender.
std::map<std::string, std::map<std::string, std::vector<double>>> figures;
std::vector<std::string> order;

void add(const std::string& what, const char* contender, double value) {
  if (std::ranges::find(order, what) == order.end()) order.push_back(what);
  figures[what][contender].push_back(value);
}

void measure(const Contender& contender) {
  const auto servers = contender.start();
  {
    const Proxy proxy;
    wait_until_ready(proxy);
    for (std::size_t command = 0; command < kCommands; ++command) {
      add(std::string(kNames[command]) + "/s", contender.name, rate(proxy, command));
    }
    const auto times = paced(proxy);
    for (std::size_t command = 0; command < kCommands; ++command) {
      for (const auto& [name, share] : {std::pair("p50", 0.5), {"p99", 0.99}}) {
        add(std::string(kNames[command]) + " " + name + " us", contender.name,
            quantile(times[command], share));
      }
    }
  }
  for (const auto pid : servers) stop(pid);
}

void print(const std::vector<Contender>& contenders) {
  std::printf("%-16s", "");
  for (const auto& contender : contenders) std::printf(" %12s", contender.name);
  for (std::size_t i = 0; i + 1 < contenders.size(); ++i)
    std::printf(" %14s", (std::string(contenders[i].name) + " ratio").c_str());
  std::printf("\n");
  for (const auto& what : order) {
    std::printf("%-16s", what.c_str());
    for (const auto& contender : contenders)
      std::printf(" %12.0f", median(figures[what][contender.name]));
    const auto& bare = figures[what][contenders.back().name];
    for (std::size_t i = 0; i + 1 < contenders.size(); ++i) {
      std::vector<double> ratios = figures[what][contenders[i].name];
      for (std::size_t round = 0; round < ratios.size(); ++round) ratios[round] /= bare[round];
      std::printf(" %14.2f", median(ratios));
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench-ng path/to/programs [rounds]\n");
    return 2;
  }
  programs = argv[1];
  if (argc > 2) rounds = std::max(1, std::atoi(argv[2]));
  ::signal(SIGPIPE, SIG_IGN);
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;  // rtpengine has a socket for each port
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  if (!simco::test::become_able_to_make_namespaces() || ::unshare(CLONE_NEWNET) != 0)
    die("network namespace");
  if (std::system("ip link set lo up; ip link add int0 type veth peer name int1; ip link add ext0 "
                  "type veth peer name ext1") != 0) {
    die("ip");
  }
  pin(1);
  const std::vector<Contender> contenders = {
      {"null", [] { return start_simco("null"); }},
      {"nftables", [] { return start_simco("nftables"); }},
      {"rtpengine", start_rtpengine},
  };
  for (int round = 0; round < rounds; ++round) {
    for (const auto& contender : contenders) measure(contender);
  }
  print(contenders);
}
