// bench-takeover: packets that are lost when a box of a pair dies, with so many rules in both, and
// the time until the other one serves agents. Beside it, in the same rounds, what VRRP alone loses:
// the same pair without a rule but the one that is watched. At first, what a rule costs when both
// boxes enforce it, beside one box alone.
//
//   bench-takeover [ROUNDS [ADVERT_INT [RULES...]]]
//
// The rules are made with kCalmAdvertInt: with both boxes and the agent on two processors, a box
// that makes a million rules would pass for dead.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agent/agent.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/pair.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/router_box.hpp"

namespace {

using namespace simco;
using namespace simco::test;
using namespace std::chrono_literals;
using Time = std::chrono::steady_clock;

constexpr const char* kAdvertInt = "0.02";  // as scripts/ha/keepalived.conf has it
constexpr const char* kCalmAdvertInt = "1";
constexpr auto kPause = 1ms;             // between two packets
constexpr std::size_t kUnderWay = 1000;  // requests

double ms(Time::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

/// An agent outside, with a loop of its own.
class Operator {
 public:
  explicit Operator(const NetworkNamespace& host)
      : thread_([this, &host] { host.run([this] { io_.run(); }); }), agent_(io_.get_executor()) {
    agent_.open({"192.0.2.1", 7626}, boost::asio::use_future).get();
  }
  ~Operator() {
    io_.stop();
    thread_.join();
  }
  agent::EnabledRule enable(std::uint16_t inside, std::uint16_t outside) {
    return ask(inside, outside).get();
  }
  /// Rules for so many pairs of ports.
  void enable_many(std::size_t rules, std::uint16_t first_outside = 10'000) {
    std::deque<std::future<agent::EnabledRule>> asked;
    for (std::size_t i = 0; i < rules; ++i) {
      const auto inside = static_cast<std::uint16_t>(10'000 + i % 40'000);
      const auto outside = static_cast<std::uint16_t>(first_outside + i / 40'000);
      asked.push_back(ask(inside, outside));
      if (asked.size() < kUnderWay) continue;
      asked.front().get();
      asked.pop_front();
    }
    for (auto& one : asked) one.get();
  }

 private:
  std::future<agent::EnabledRule> ask(std::uint16_t inside, std::uint16_t outside) {
    return agent_.enable(BoxAgent::request("10.0.0.2:" + std::to_string(inside),
                                           "192.0.2.2:" + std::to_string(outside), kProtocolUdp,
                                           Direction::kBidirectional, 3600),
                         boost::asio::use_future);
  }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::thread thread_;
  agent::Agent agent_;
};

/// Sends a packet each millisecond to `to`, and keeps the longest time in which none arrived.
class Stream {
 public:
  Stream(const Udp& from, const Udp& at, const Endpoint& to)
      : sender_([&from, to](const std::stop_token& stop) {
          for (auto next = Time::now(); !stop.stop_requested(); next += kPause) {
            from.send(to, "x");
            std::this_thread::sleep_until(next);
          }
        }),
        receiver_([this, &at](const std::stop_token& stop) {
          auto last = Time::now();
          while (!stop.stop_requested()) {
            if (!at.receive(100ms)) continue;
            const auto now = Time::now();
            if (watching_) longest_ = std::max(longest_.load(), now - last);
            last = now;
          }
        }) {}
  void watch() { watching_ = true; }
  Time::duration longest() const { return longest_; }

 private:
  std::atomic<bool> watching_ = false;
  std::atomic<Time::duration> longest_ = Time::duration();
  std::jthread sender_;
  std::jthread receiver_;
};

struct Loss {
  double packets_ms;
  double agents_ms;
};

/// Nothing if the first box passed for dead before it was.
std::optional<Loss> measure(std::size_t rules, const std::string& advert_int) {
  const Folder folder("bench-takeover");
  Pair pair(folder.path, kCalmAdvertInt, {});
  if (!pair.boot()) throw std::runtime_error("the pair does not start");
  const Udp host(pair.inside, {"10.0.0.2", 5004});
  const Udp peer(pair.outside, {"192.0.2.2", 6004});
  auto agent = std::make_unique<Operator>(pair.outside);
  const auto watched = agent->enable(5004, 6004);
  agent->enable_many(rules);
  const auto count = std::to_string(rules + 1) + "\n";
  const auto has_all = [&] { return pair.second.redis("hlen simco:rules") == count; };
  if (!eventually(has_all)) throw std::runtime_error("the replica does not have the rules");
  // The second box takes over the interval of the first, which says nothing while it reads its
  // configuration.
  pair.second.signal_vrrp(SIGSTOP);
  pair.first.advertise_every(advert_int);
  std::this_thread::sleep_for(1s);
  pair.second.signal_vrrp(SIGCONT);
  std::this_thread::sleep_for(1s);
  Stream stream(peer, host, endpoint_of(watched.outside));
  std::this_thread::sleep_for(500ms);
  if (pair.second.serves()) return std::nullopt;
  stream.watch();
  const auto began = Time::now();
  // Not die(): a machine that is off does not free a million rules beside the other one.
  pair.first.unplug();
  while (!pair.second.serves()) std::this_thread::sleep_for(1ms);
  const auto serves = Time::now() - began;
  std::this_thread::sleep_for(500ms);
  return Loss{ms(stream.longest()), ms(serves)};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Of rules one after the other, ms; and the rate if many are under way.
struct Price {
  double one_ms;
  double rate;
};

Price price(Operator& agent, std::uint16_t& port) {
  constexpr int kSingle = 300;
  constexpr std::size_t kMany = 20'000;
  std::vector<double> times;
  for (int i = 0; i < kSingle; ++i) {
    const auto began = Time::now();
    agent.enable(port++, 6004);
    times.push_back(ms(Time::now() - began));
  }
  const auto began = Time::now();
  agent.enable_many(kMany, port++);
  return {median(times), 1e3 * kMany / ms(Time::now() - began)};
}

void report_price() {
  const Folder folder("bench-price");
  Pair pair(folder.path, kCalmAdvertInt, {});
  pair.first.boot();
  if (!eventually([&] { return pair.first.serves(); })) throw std::runtime_error("no start");
  Operator agent(pair.outside);
  std::uint16_t port = 5004;
  const auto alone = price(agent, port);
  pair.second.boot();
  const auto passes = [&] { return pair.second.said().contains("packets pass here"); };
  if (!eventually(passes)) throw std::runtime_error("the second box does not follow");
  const auto both = price(agent, port);
  std::printf("a rule takes %.2f ms on one box, %.2f on both (%.1f times); %.0f and %.0f rules/s\n",
              alone.one_ms, both.one_ms, both.one_ms / alone.one_ms, alone.rate, both.rate);
}

void report(std::size_t rules, int rounds, const std::string& advert_int) {
  std::vector<double> packets;
  std::vector<double> agents;
  for (int round = 0; round < rounds; ++round) {
    const auto loss = measure(rules, advert_int);
    if (!loss) continue;
    packets.push_back(loss->packets_ms);
    agents.push_back(loss->agents_ms);
  }
  if (packets.empty()) throw std::runtime_error("the machine is too busy for this ADVERT_INT");
  std::printf(
      "%9zu rules: no packet for %6.1f ms (%.1f to %.1f); agents served after %.0f ms; %zu of %d "
      "rounds\n",
      rules + 1, median(packets), std::ranges::min(packets), std::ranges::max(packets),
      median(agents), packets.size(), rounds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (!become_able_to_make_namespaces()) return 1;
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  std::vector<std::size_t> counts;
  const std::string advert_int = argc > 2 ? argv[2] : kAdvertInt;
  for (int i = 3; i < argc; ++i) counts.push_back(std::strtoul(argv[i], nullptr, 10));
  if (counts.empty()) counts = {0, 1'000};
  report_price();
  for (const auto rules : counts) report(rules, rounds, advert_int);
}
