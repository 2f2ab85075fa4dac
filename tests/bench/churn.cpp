// Rules come and go on a router with --fast-path xdp, thousands a second, while it forwards as many
// packets as one processor makes:
//
//   fast-path-churn path/to/simco-middlebox [--seconds N] [--flows N]
//
// Every packet that is made after the reply to its rule's PER has to arrive, at the right host, and
// none that is made after the rule has ended, by a request or by its lifetime, may. Once as a
// firewall, once as a NAT. Ends with status 1 if that does not hold.
//
// Packets are made in rounds. The next round begins when the last packet of the one before has
// arrived, and all others that had to: so earlier packets have met the rules, and nothing is lost
// to a full queue.
#include "tests/bench/churn.h"
// Of these structures, too.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <churn.skel.h>
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/agent.hpp"
#include "tests/bench/forwarding.hpp"
#include "tests/bench/packet_source.hpp"
#include "tests/bench/session_driver.hpp"
#include "tests/support/http.hpp"
#include "tests/support/patience.hpp"

namespace simco::bench {
namespace {

using boost::asio::awaitable;
using boost::asio::use_awaitable;
using namespace std::chrono_literals;

constexpr std::uint32_t kRound = 128;  // a veth holds 256 packets
constexpr std::uint32_t kAtOnce = 64;
/// Of the maker between two looks at whether it is enough.
constexpr int kRuns = 100'000;
constexpr std::size_t kFrameOctets = 214;
constexpr std::uint16_t kMetricsPort = 17'712;
/// How long a rule lives, and its flow is without one.
constexpr auto kLife = 100ms;
/// One of so many rules ends with its lifetime.
constexpr std::uint32_t kExpiring = 8;
constexpr auto kLifetime = 1s;
/// A rule ends so late at most: the kernel's ticks, and those of nftables' timeouts.
constexpr auto kLate = 200ms;
constexpr std::uint64_t kNever = ~0ULL;

/// The programs in the kernel, and the memory that they share with us.
class Kernel {
 public:
  Kernel(const Forwarding& net, std::uint32_t flow_count) {
    libbpf_set_print(nullptr);
    skeleton_.reset(churn_bpf__open());
    if (!skeleton_) die("churn's BPF program");
    skeleton_->rodata->exit_interface = net.outside.run([] { return ::if_nametoindex("eth0"); });
    std::ranges::copy(hardware_address("ext0"), skeleton_->rodata->router);
    skeleton_->rodata->flow_count = flow_count;
    skeleton_->rodata->first_host = kFirstHost;
    skeleton_->rodata->in_round = kRound;
    bpf_map__set_max_entries(skeleton_->maps.flows, flow_count);
    if (churn_bpf__load(skeleton_.get()) != 0)
      die("churn's BPF program, which needs root's rights");
    void* const memory = ::mmap(nullptr, flow_count * sizeof(churn_flow), PROT_READ | PROT_WRITE,
                                MAP_SHARED, bpf_map__fd(skeleton_->maps.flows), 0);
    if (memory == MAP_FAILED) die("mmap");
    flows_ = {static_cast<churn_flow*>(memory), flow_count};
    for (auto& flow : flows_) flow.dead_from = kNever;
    link_ = net.inside.run([&] {
      return bpf_program__attach_xdp(skeleton_->progs.look,
                                     static_cast<int>(::if_nametoindex("eth0")));
    });
    if (link_ == nullptr) die("eth0");
  }
  ~Kernel() {
    bpf_link__destroy(link_);
    ::munmap(flows_.data(), flows_.size_bytes());
  }

  std::span<churn_flow> flows() { return flows_; }
  churn_counts counts() const {
    churn_counts copy{};
    std::memcpy(&copy, &skeleton_->bss->counts, sizeof copy);
    return copy;
  }
  /// Rounds whose packets have been made; all but the last one's are through.
  std::uint64_t rounds() const { return counts().made / kRound; }
  /// Makes packets, or waits for those of the last round, in the caller's network namespace.
  void make_packets() {
    const std::array<std::uint8_t, kFrameOctets> frame{};
    bpf_test_run_opts run{};
    run.sz = sizeof run;
    run.data_in = frame.data();
    run.data_size_in = kFrameOctets;
    run.repeat = kRuns;
    run.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
    run.batch_size = kAtOnce;
    if (bpf_prog_test_run_opts(bpf_program__fd(skeleton_->progs.make), &run) != 0)
      die("BPF_PROG_TEST_RUN");
  }

 private:
  struct Destroy {
    void operator()(churn_bpf* skeleton) const { churn_bpf__destroy(skeleton); }
  };
  std::unique_ptr<churn_bpf, Destroy> skeleton_;
  std::span<churn_flow> flows_;
  bpf_link* link_ = nullptr;
};

template <class Field, class Value>
void store(Field& field, Value value) {
  std::atomic_ref(field).store(static_cast<Field>(value));
}

/// Makes round after round on a processor of its own.
class Packets {
 public:
  Packets(const Forwarding& net, Kernel& kernel) : kernel_(kernel) {
    thread_ = std::thread([this, &net] {
      net.outside.run([&] {
        pin(1);
        while (!ending_) kernel_.make_packets();
      });
    });
  }
  ~Packets() {
    ending_ = true;
    thread_.join();
  }
  /// Packets that had to arrive have not, and do not any more.
  bool hangs() {
    const auto made = kernel_.counts().made;
    const auto now = Clock::now();
    if (made != made_) went_on_ = now;
    made_ = made;
    return now > went_on_ + test::kPatience;
  }

 private:
  Kernel& kernel_;
  std::atomic<bool> ending_ = false;
  std::uint64_t made_ = 0;
  Clock::time_point went_on_ = Clock::now();
  std::thread thread_;
};

void fail_loudly(const std::exception_ptr& failure) {
  if (failure) std::rethrow_exception(failure);
}

/// The rules of all flows, which come and go.
class Rules {
 public:
  Rules(boost::asio::io_context& io, Kernel& kernel)
      : io_(io), kernel_(kernel), agent_(io.get_executor()) {}

  awaitable<void> begin() {
    co_await agent_.open({"127.0.0.1", kPort}, use_awaitable);
    co_await enable(0, 3600s);
    for (std::uint32_t flow = 1; flow < kernel_.flows().size(); ++flow)
      co_spawn(io_, lives_of(flow), fail_loudly);
  }
  /// Packets of flow 0 pass.
  bool has_begun() const { return count_ != 0; }
  /// Rules that have come so far.
  std::uint64_t count() const { return count_; }

 private:
  static std::string endpoint(std::uint32_t address) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8)
      text += std::to_string(address >> shift & 255) + (shift == 0 ? ":" : ".");
    return text + std::to_string(CHURN_PORT);
  }

  awaitable<void> pause(std::chrono::nanoseconds time) {
    boost::asio::steady_timer timer(io_, time);
    co_await timer.async_wait(use_awaitable);
  }
  /// No packet is on its way that was made before this.
  awaitable<void> next_round() {
    const auto until = kernel_.rounds() + 2;  // one is under way
    while (kernel_.rounds() < until) co_await pause(1ms);
  }

  awaitable<PolicyRuleId> enable(std::uint32_t flow, std::chrono::seconds lifetime) {
    const auto rule = co_await agent_.enable(
        PerRequest::udp(endpoint(kFirstHost + flow), endpoint(CHURN_PEER), lifetime),
        use_awaitable);
    auto& entry = kernel_.flows()[flow];
    std::memcpy(&entry.address, rule.outside.address.data(), sizeof entry.address);
    entry.port = htons(rule.outside.port);
    ++count_;
    co_return rule.pid;
  }

  awaitable<void> lives_of(std::uint32_t flow) {
    auto& entry = kernel_.flows()[flow];
    co_await pause(kLife * flow / kernel_.flows().size());
    for (;;) {
      if (flow % kExpiring != 0) {
        const auto pid = co_await enable(flow, 3600s);
        store(entry.live, 1);
        co_await pause(kLife);
        store(entry.live, 0);
        co_await next_round();
        co_await agent_.remove(pid, use_awaitable);
        store(entry.dead_from, 0);
      } else {
        co_await enable(flow, kLifetime);
        const auto end = Clock::now() + kLifetime + kLate;
        store(entry.dead_from, end.time_since_epoch() / 1ns);
        co_await pause(end - Clock::now());
      }
      co_await pause(kLife);
      store(entry.dead_from, kNever);
      co_await next_round();
    }
  }

  boost::asio::io_context& io_;
  Kernel& kernel_;
  agent::Agent agent_;
  std::uint64_t count_ = 0;
};

/// The counts of a middlebox on the router, by the name of its metric.
double metric(const std::string& name) {
  const auto text = test::http_get(kMetricsPort, "/metrics");
  const auto at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
}

struct Choice {
  std::string program;
  double seconds = 40;
  std::uint32_t flows = 2'400;
};

/// Returns whether everything was as it should be.
bool run(const Choice& choice, const std::string& mode, std::vector<std::string> options) {
  const Forwarding net;
  for (const auto* host : {&net.inside, &net.outside}) host->run([] { receive_as_a_card("eth0"); });
  options.insert(options.begin(),
                 {choice.program, "--backend", "nftables", "--internal-if", "int0", "--external-if",
                  "ext0", "--fast-path", "xdp", "--port", std::to_string(kPort), "--metrics",
                  "127.0.0.1:" + std::to_string(kMetricsPort), "--log-level", "error"});
  const pid_t box = start(0, options);
  ::close(connect_to(kPort));
  const auto is_linked = [&] { return net.router.output("ip link show int0").contains("/xdp"); };
  if (!test::eventually(is_linked)) die("the fast path is not on");

  boost::asio::io_context io;
  Kernel kernel(net, choice.flows);
  std::uint64_t rules = 0;
  bool hangs = false;
  const auto begin = Clock::now();
  {
    std::optional<Packets> packets;
    Rules churn(io, kernel);
    co_spawn(io, churn.begin(), fail_loudly);
    while (!churn.has_begun()) io.run_one();
    packets.emplace(net, kernel);
    while (Clock::now() - begin < std::chrono::duration<double>(choice.seconds) &&
           !packets->hangs())
      io.run_for(100ms);
    rules = churn.count();
    hangs = packets->hangs();
  }
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto all_arrived = [&] { return kernel.counts().live == kernel.counts().live_arrived; };
  if (!hangs) test::eventually(all_arrived);
  const auto counts = kernel.counts();
  const double fast = metric("simco_fast_path_packets_total{way=\"forwarded\"}");
  stop(box);
  const auto lost = counts.live - counts.live_arrived;
  std::printf(
      "%s: %.0f rules/s, %.0f packets/s, %.0f %% of those that arrived by the fast path; "
      "with a rule: %llu, lost %llu; after the end: %llu, passed %llu; misled %llu\n",
      mode.c_str(), static_cast<double>(rules) / seconds,
      static_cast<double>(counts.made) / seconds, 100 * fast / static_cast<double>(counts.arrived),
      counts.live, lost, counts.dead, counts.dead_arrived, counts.misled);
  return !hangs && lost == 0 && counts.dead_arrived == 0 && counts.misled == 0 && counts.dead != 0;
}

}  // namespace
}  // namespace simco::bench

int main(int argc, char** argv) {
  simco::bench::Choice choice;
  CLI::App app("Rules come and go under packets");
  app.add_option("middlebox", choice.program, "Path to simco-middlebox")->required();
  app.add_option("--seconds", choice.seconds, "How long both runs take together");
  app.add_option("--flows", choice.flows, "Flows, whose rules come and go")
      ->check(CLI::Range(2, 1 << 16));
  CLI11_PARSE(app, argc, argv);
  choice.seconds /= 2;
  const bool firewall = simco::bench::run(choice, "firewall", {});
  const bool nat = simco::bench::run(choice, "NAT", {"--mode", "nat", "--outside", "198.51.100.1"});
  return firewall && nat ? 0 : 1;
}
