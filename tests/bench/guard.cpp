// An rtpengine whose ports are open for its calls' parties only: by simco-ng --upstream and a
// middlebox with --guard on the same machine, and by rtpengine's own --iptables-chain; beside
// rtpengine with all its ports open (Debian: rtpengine-daemon, without its kernel module; the
// kernel's legacy iptables).
//
//   bench-guard path/to/programs [rounds]
//
// At 100 and at 1,000 calls/s, each call is offered, answered, and deleted 3 s later. Each party
// sends its first packet 20 ms, which is what a packet of audio holds, after its answer: the callee
// after the proxy has the answer, the caller after the proxy passes it on. A stranger sends to both
// ports of each call. All packets that reach a port come out at the other side. The processor's
// time is that of all servers, less that of rtpengine alone. Servers are pinned to one core, the
// parties to the other. Prints medians, and ratios to the chain's of the same round.
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <queue>
#include <sstream>

#include "tests/bench/ng_proxy.hpp"
#include "tests/support/network.hpp"

namespace {

using namespace simco::bench;
using namespace std::chrono_literals;
using simco::test::Network;
using simco::test::Udp;

constexpr const char* kHost = "192.0.2.1";
constexpr const char* kCallerAddress = "192.0.2.2";
constexpr const char* kCalleeAddress = "192.0.2.3";
constexpr std::uint16_t kCallerPort = 7000;
constexpr std::uint16_t kCalleePort = 8000;
constexpr auto kHeld = 3s;
constexpr auto kFirstPacket = 20ms;
constexpr auto kStrangerAfter = 40ms;
constexpr auto kPatience = 5s;
constexpr const char* kPorts = "20000-59999";

std::string programs;
int rounds = 3;

// --- Servers -------------------------------------------------------------------------------------

using Servers = std::vector<pid_t>;
struct Contender {
  const char* name;
  std::function<Servers()> start;
};

pid_t start_rtpengine(const char* ng, const char* further = "--delete-delay=0") {
  return start(0, {"rtpengine", "--foreground", "--log-stderr", "--log-level=2", "--table=-1",
                   std::string("--interface=") + kHost, std::string("--listen-ng=") + ng,
                   "--port-min=20000", "--port-max=59999", "--delete-delay=0", further});
}

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) die(command.c_str());
}

Servers start_chain() {
  shell(
      "iptables-legacy -N rtpengine; iptables-legacy -A INPUT -p udp --dport 20000:59999 -j "
      "rtpengine; iptables-legacy -A INPUT -i ext0 -p udp --dport 20000:59999 -j DROP");
  return {start_rtpengine("127.0.0.1:17713", "--iptables-chain=rtpengine")};
}

Servers start_simco() {
  const auto port = std::to_string(kPort);
  const auto middlebox =
      start(0, {programs + "/simco-middlebox", "--port", port, "--log-level", "error", "--backend",
                "nftables", "--guard", std::string("udp:") + kPorts, "--keep-rules=false"});
  ::close(connect_to(kPort));
  const auto rtpengine = start_rtpengine("127.0.0.1:17714");
  return {start(0, {programs + "/simco-ng", "--listen", "127.0.0.1:17713", "--middlebox",
                    "127.0.0.1:" + port, "--internal", kHost, "--upstream", "127.0.0.1:17714",
                    "--log-level", "error"}),
          rtpengine, middlebox};
}

void stop_all(const Servers& servers) {
  for (const auto pid : servers) stop(pid);
  shell(
      "iptables-legacy -F; iptables-legacy -X; "
      "nft delete table inet simco 2>/dev/null || :");
}

/// Seconds of the processor that `pid` has had.
double processor_time(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// --- Calls ---------------------------------------------------------------------------------------

enum class Sender : char { kCaller = 'a', kCallee = 'b', kStranger = 's' };

struct Call {
  std::uint16_t for_callee = 0;  ///< port of rtpengine that the offer's reply names
  std::uint16_t for_caller = 0;
  Clock::time_point asked;
  bool caller_heard = false;
  bool callee_heard = false;
};

struct Outcome {
  std::vector<double> answers;  ///< milliseconds
  std::size_t unanswered = 0;
  std::size_t lost = 0;
  std::size_t strange = 0;  ///< packets of the stranger that a port took
};

/// Parties of all calls: each has an address and a port; a packet names its call and its sender.
class Run {
 public:
  Run(const Network& net, const Proxy& proxy, std::size_t rate, std::size_t count)
      : proxy_(proxy),
        pace_(std::chrono::nanoseconds(1s) / rate),
        calls_(count),
        caller_(net.outside, {kCallerAddress, kCallerPort}),
        callee_(net.outside, {kCalleeAddress, kCalleePort}),
        stranger_(net.outside, {kCalleeAddress, 9000}) {}

  Outcome go() {
    const auto begin = Clock::now() + 10ms;
    for (std::size_t call = 0; call < calls_.size(); ++call)
      at(begin + call * pace_, [this, call] { offer(call); });
    auto quiet_since = Clock::now();
    while (!due_.empty() || Clock::now() < quiet_since + kPatience) {
      const auto now = Clock::now();
      while (!due_.empty() && due_.top().when <= now) {
        const auto act = due_.top().act;
        due_.pop();
        act();
        quiet_since = now;
      }
      hear();
      const auto next = due_.empty() ? now + 100ms : std::min(due_.top().when, now + 10ms);
      if (const auto reply = proxy_.receive(std::max(next - Clock::now(), Clock::duration(0)))) {
        on_reply(*reply);
        quiet_since = Clock::now();
      }
      if (done_ == calls_.size() && due_.empty()) break;
    }
    hear();
    outcome_.unanswered = calls_.size() - outcome_.answers.size();
    for (const auto& call : calls_) {
      if (call.for_caller == 0) continue;
      outcome_.lost += !call.caller_heard + !call.callee_heard;
    }
    return outcome_;
  }

 private:
  struct Event {
    Clock::time_point when;
    std::function<void()> act;
    bool operator<(const Event& other) const { return when > other.when; }
  };
  void at(Clock::time_point when, std::function<void()> act) { due_.push({when, std::move(act)}); }

  void offer(std::size_t call) {
    proxy_.send(ng_request(0, call, sdp(kCallerAddress, kCallerPort)));
  }

  void on_reply(const Reply& reply) {
    if (reply.call >= calls_.size()) return;
    auto& call = calls_[reply.call];
    const auto now = Clock::now();
    if (reply.command == 0) {
      call.for_callee = reply.port;
      call.asked = now;
      proxy_.send(ng_request(1, reply.call, sdp(kCalleeAddress, kCalleePort)));
      say_at(now + kFirstPacket, callee_, Sender::kCallee, reply.call, reply.port);
    } else if (reply.command == 1) {
      outcome_.answers.push_back(
          std::chrono::duration<double, std::milli>(now - call.asked).count());
      call.for_caller = reply.port;
      say_at(now + kFirstPacket, caller_, Sender::kCaller, reply.call, reply.port);
      for (const auto port : {call.for_caller, call.for_callee})
        say_at(now + kStrangerAfter, stranger_, Sender::kStranger, reply.call, port);
      at(now + kHeld, [this, id = reply.call] { proxy_.send(ng_request(2, id, {})); });
    } else {
      ++done_;
    }
  }

  void say_at(Clock::time_point when, const Udp& from, Sender sender, std::size_t call,
              std::uint16_t port) {
    at(when, [&from, sender, call, port] {
      std::string rtp(172, 'x');
      rtp[0] = static_cast<char>(0x80);
      rtp[1] = 0;
      std::memcpy(rtp.data() + 12, &call, sizeof call);
      rtp[20] = static_cast<char>(sender);
      from.send({kHost, port}, rtp);
    });
  }

  void hear() {
    for (const auto* party : {&caller_, &callee_}) {
      while (const auto packet = party->receive(0ms)) {
        if (packet->text.size() != 172) continue;  // RTCP
        std::size_t call = 0;
        std::memcpy(&call, packet->text.data() + 12, sizeof call);
        const auto sender = static_cast<Sender>(packet->text[20]);
        if (sender == Sender::kStranger) ++outcome_.strange;
        if (sender == Sender::kCaller) calls_.at(call).caller_heard = true;
        if (sender == Sender::kCallee) calls_.at(call).callee_heard = true;
      }
    }
  }

  const Proxy& proxy_;
  std::chrono::nanoseconds pace_;
  std::vector<Call> calls_;
  Udp caller_;
  Udp callee_;
  Udp stranger_;
  std::priority_queue<Event> due_;
  std::size_t done_ = 0;
  Outcome outcome_;
};

// --- The table -----------------------------------------------------------------------------------

/// Figures of all rounds, by name and by contender.
std::map<std::string, std::map<std::string, std::vector<double>>> figures;

void measure(const Network& net, const Contender& contender, std::size_t rate) {
  const auto servers = contender.start();
  {
    const Proxy proxy;
    wait_until_ready(proxy);
    const std::size_t count = rate * 10;
    const auto used = [&] {
      double sum = 0;
      for (const auto pid : servers) sum += processor_time(pid);
      return sum;
    };
    const auto before = used();
    const auto outcome = Run(net, proxy, rate, count).go();
    const auto calls = static_cast<double>(outcome.answers.size());
    const auto name = " at " + std::to_string(rate) + "/s";
    figures["processor us an answered call" + name][contender.name].push_back(
        1e6 * (used() - before) / calls);
    figures["answer p99 ms" + name][contender.name].push_back(
        outcome.answers.empty() ? NAN : quantile(outcome.answers, 0.99));
    figures["calls unanswered" + name][contender.name].push_back(
        static_cast<double>(outcome.unanswered));
    figures["first packets lost" + name][contender.name].push_back(
        static_cast<double>(outcome.lost));
    figures["stranger's packets in" + name][contender.name].push_back(
        static_cast<double>(outcome.strange));
  }
  stop_all(servers);
}

void print(const std::vector<Contender>& contenders) {
  std::printf("%-34s", "");
  for (const auto& contender : contenders) std::printf(" %10s", contender.name);
  std::printf("   simco/chain\n");
  for (auto& [what, by] : figures) {
    std::printf("%-34s", what.c_str());
    for (const auto& contender : contenders) std::printf(" %10.2f", median(by[contender.name]));
    const bool processor = what.starts_with("processor");
    if (processor || what.starts_with("answer")) {
      std::vector<double> ratios;
      for (std::size_t round = 0; round < by["simco"].size(); ++round) {
        const double open = processor ? by["open"][round] : 0;
        ratios.push_back((by["simco"][round] - open) / (by["chain"][round] - open));
      }
      std::printf("   %.3f", median(ratios));
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = begin(argc, argv, 3);
  programs = arguments.programs;
  rounds = arguments.rounds;
  const Network net;
  net.router.enter();
  shell("ip link set lo up");
  pin(1);
  const std::vector<Contender> contenders = {
      {"open", [] { return Servers{start_rtpengine("127.0.0.1:17713")}; }},
      {"chain", start_chain},
      {"simco", start_simco},
  };
  for (int round = 0; round < rounds; ++round) {
    for (const std::size_t rate : {100, 1000}) {
      for (const auto& contender : contenders) measure(net, contender, rate);
    }
  }
  print(contenders);
}
