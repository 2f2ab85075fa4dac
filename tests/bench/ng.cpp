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
#include <deque>
#include <functional>
#include <map>
#include <string_view>

#include "tests/bench/ng_proxy.hpp"

namespace {

using namespace simco::bench;
using namespace std::chrono_literals;

constexpr std::size_t kCalls = 2000;       ///< of the first part: each takes rtpengine 4 sockets
constexpr std::size_t kWindow = 32;        ///< its requests in flight
constexpr std::size_t kPacedCalls = 5000;  ///< of the second part
constexpr auto kPace = 1ms;
constexpr auto kHeld = 1s;
constexpr auto kLost = 5s;  ///< a reply that is not there by then

/// Request `command` of call `call`.
std::string request(std::size_t command, std::size_t call) {
  const auto port = 2000 + 2 * (call % 30'000);
  return ng_request(command, call, sdp(command == 0 ? "10.0.0.5" : "192.0.2.7", port));
}

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
  const auto arguments = begin(argc, argv, 5);
  programs = arguments.programs;
  rounds = arguments.rounds;
  if (::unshare(CLONE_NEWNET) != 0) die("network namespace");
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
