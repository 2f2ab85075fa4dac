// What enforcing rules with nftables costs, in a network namespace of its own:
//
//   bench-nftables path/to/simco-middlebox rate [rounds]      PER/s, against null and bare
//                                                             libnftnl
//   bench-nftables path/to/simco-middlebox live [rounds]      PER/s with few and many live rules
//   bench-nftables path/to/simco-middlebox forward [rounds]   packets/s through the router
//   bench-nftables path/to/simco-middlebox fastpath [rounds]  the same with --fast-path xdp
//   bench-nftables path/to/simco-middlebox counters [rounds]  what --counters costs of both
//   bench-nftables path/to/simco-middlebox miniupnpd          NAT bindings beside miniupnpd's
//                                                             by PCP
//
// Each prints medians, and ratios of what ran in turns. "Bare loop" adds elements with libnftnl, as
// many to a commit; "bare server" does so for requests that come over TCP, before it replies.
#include <functional>
#include <string_view>

#include "tests/bench/bare_nftables.hpp"
#include "tests/bench/bare_server.hpp"
#include "tests/bench/forwarding.hpp"
#include "tests/bench/nftables_box.hpp"
#include "tests/bench/packet_source.hpp"
#include "tests/bench/session_driver.hpp"
#include "tests/support/network.hpp"

namespace {

using namespace simco::bench;
using simco::test::NetworkNamespace;

/// The bare server, which adds an element for each request before it replies; see serve_bare().
class BareServer {
 public:
  BareServer() : server_(start(0, {}, serve)), session_(connect_to(kPort)) {}
  ~BareServer() {
    ::close(session_);
    stop(server_);
  }
  double add(std::uint32_t count, std::uint32_t window) { return drive(session_, count, window); }
  double cpu_seconds() const { return cpu_seconds_of(server_); }
  void check() const {}

 private:
  [[noreturn]] static void serve() {
    BareElements elements;
    serve_bare([&](std::uint32_t requests) { elements.add(requests); });
  }

  BareTable table_;
  pid_t server_;
  int session_;
};

// On a machine that does other work, rates say more of that than processor times do. What a
// backend has to take is what it adds to the null backend; the bare loop takes that alone.
void bench_rate() {
  constexpr std::array<const char*, 4> kRuns = {"bare loop", "bare server", "null", "nftables"};
  for (const auto& [window, count] : {std::pair(1U, 20'000U), {16U, 100'000U}, {256U, 300'000U}}) {
    std::array<std::vector<double>, kRuns.size()> rates, cpu, rate_ratios, cpu_ratios;
    std::vector<double> added, added_ratios;
    for (int round = 0; round < rounds; ++round) {
      const std::array<Speed, kRuns.size()> speeds = {
          add_bare_elements(count, window), run<BareServer>(count, window),
          run_box("null", count, window), run_box("nftables", count, window)};
      const auto& [bare, server, null, nftables] = speeds;
      for (std::size_t i = 0; i < speeds.size(); ++i) {
        rates[i].push_back(speeds[i].per_second);
        cpu[i].push_back(speeds[i].cpu_us);
        rate_ratios[i].push_back(nftables.per_second / speeds[i].per_second);
        cpu_ratios[i].push_back(speeds[i].cpu_us / nftables.cpu_us);
      }
      added.push_back(nftables.cpu_us - null.cpu_us);
      added_ratios.push_back(bare.cpu_us / added.back());
    }
    std::printf("%3u in flight: %11s %18s %14s %18s\n", window, "a second", "nftables / it",
                "CPU us each", "it / nftables");
    for (std::size_t i = 0; i < kRuns.size(); ++i) {
      std::printf("  %-12s %12.0f %18.2f %14.2f %18.2f\n", kRuns[i], median(rates[i]),
                  median(rate_ratios[i]), median(cpu[i]), median(cpu_ratios[i]));
    }
    std::printf("  nftables takes %.2f us more than null; bare loop / that: %.2f\n", median(added),
                median(added_ratios));
    std::fflush(stdout);
  }
}

void bench_live() {
  constexpr std::uint32_t kMeasured = 20'000;
  const std::array<std::uint32_t, 3> live = {1, 1'000, 100'000};
  std::array<std::vector<double>, 3> rates;
  for (int round = 0; round < rounds; ++round) {
    Box box("nftables");
    std::uint32_t there = 0;
    for (std::size_t i = 0; i < live.size(); ++i) {
      if (live[i] > there) box.add(live[i] - there, std::min(live[i] - there, 256U));
      rates[i].push_back(box.add(kMeasured, 256));
      there = live[i] + kMeasured;
    }
  }
  for (std::size_t i = 0; i < live.size(); ++i) {
    std::printf("%7u live rules: %9.0f PER/s, %.2f of that with 1\n", live[i], median(rates[i]),
                median(rates[i]) / median(rates[0]));
  }
}

// --- Forwarding ----------------------------------------------------------------------------------

/// A bare hash set of as many elements, and nothing else: what the kernel can do at best.
void make_bare_set(const NetworkNamespace& router, std::uint32_t hosts) {
  const std::string file = "/tmp/bench-nftables-" + std::to_string(::getpid()) + ".nft";
  std::FILE* out = std::fopen(file.c_str(), "w");
  std::fprintf(out,
               "table inet bare {\n set s { type ipv4_addr . ipv4_addr . inet_proto . inet_service "
               ". inet_service; elements = {\n");
  for (std::uint32_t i = 1; i <= hosts; ++i) {
    std::fprintf(out, "10.%u.%u.%u . 192.0.2.2 . udp . 16384 . 16384,\n", i >> 16 & 255,
                 i >> 8 & 255, i & 255);
  }
  std::fprintf(
      out,
      "}\n }\n chain forward { type filter hook forward priority filter; policy drop;\n ip "
      "daddr . ip saddr . meta l4proto . th dport . th sport @s accept\n }\n}\n");
  std::fclose(out);
  router.shell("nft -f " + file);
  ::unlink(file.c_str());
}

/// Packets a second of one core that the router forwards to `flows` hosts; all of them have to come
/// through.
double forward(const Forwarding& net, std::uint32_t flows) {
  net.inside.shell(
      "nft 'add table netdev sink; add chain netdev sink in { type filter hook ingress device eth0 "
      "priority 0; }; add counter netdev sink arrived; add rule netdev sink in ip daddr 10.0.0.0/8 "
      "counter name arrived drop'");
  const PacketFlows to{hardware_address("ext0"), kOutsideHost, kFirstHost, flows, kMediaPort};
  net.outside.run([&] { send_packets("eth0", to, flows * 4); });  // whatever is slower at first
  net.inside.output("nft reset counters table netdev sink");
  const double each_ns = net.outside.run([&] { return send_packets("eth0", to, kForwardPackets); });
  const auto counted = net.inside.output("nft list counters table netdev sink");
  net.inside.shell("nft delete table netdev sink");
  const auto at = counted.find("packets ");
  const auto arrived = at == std::string::npos ? 0 : std::stoull(counted.substr(at + 8));
  require_all(arrived);
  return 1e9 / each_ns;
}

/// Where a site's own rules ask for the state of each flow.
constexpr const char* kSiteTracks =
    "nft 'add table inet site; add chain inet site c { type filter hook forward priority -10; }; "
    "add rule inet site c ct state invalid counter'";

void bench_forward() {
  const Forwarding net;
  receive_as_a_card("ext0");
  struct Variant {
    const char* name;
    std::string tracking;  ///< empty: no middlebox
    const char* before;
    std::array<std::vector<double>, 3> rates;
  };
  constexpr std::array<std::uint32_t, 3> kFlows = {1, 10'000, kMany};
  std::vector<Variant> variants = {{"plain forwarding", "", "", {}},
                                   {"bare set", "", "set", {}},
                                   {"--tracking all", "all", "", {}},
                                   {"--tracking needed", "needed", "", {}},
                                   {"--tracking notrack", "notrack", "", {}},
                                   {"needed, the site tracks", "needed", kSiteTracks, {}},
                                   {"notrack, the site tracks", "notrack", kSiteTracks, {}}};
  const auto measure = [&](Variant& variant) {
    for (std::size_t i = 0; i < kFlows.size(); ++i)
      variant.rates[i].push_back(forward(net, kFlows[i]));
  };
  for (int round = 0; round < rounds; ++round) {
    for (auto& variant : variants) {
      if (variant.tracking.empty()) {
        if (*variant.before != 0) make_bare_set(net.router, kMany);
        measure(variant);
      } else {
        if (*variant.before != 0) net.router.shell(variant.before);
        Box box("nftables", {"--tracking", variant.tracking});
        box.add_hosts(0, kMany);
        measure(variant);
      }
      net.router.shell("nft flush ruleset; conntrack -F 2>/dev/null || true");
    }
  }
  std::printf("%-45s", "ns a packet, and packets/s of --tracking all:");
  for (const auto flows : kFlows) std::printf(" %12u flows", flows);
  std::printf("\n");
  for (const auto& variant : variants) {
    std::printf("%-45s", variant.name);
    for (std::size_t i = 0; i < kFlows.size(); ++i) {
      const double rate = median(variant.rates[i]);
      std::printf(" %10.0f %7.2f", 1e9 / rate, rate / median(variants[2].rates[i]));
    }
    std::printf("\n");
  }
}

/// Each with counters as a share of the same without, in turns.
void bench_counters() {
  const Forwarding net;
  receive_as_a_card("ext0");
  const std::vector<std::string> counting = {"--counters"};
  struct Pair {
    const char* name;
    std::function<double(const std::vector<std::string>& options)> measure;
    std::vector<double> without, with, ratio;
  };
  const auto forwarded = [&](std::uint32_t rules, const std::vector<std::string>& options) {
    Box box("nftables", options);
    box.add_hosts(0, rules);
    const double rate = forward(net, rules);
    net.router.shell("conntrack -F 2>/dev/null || true");
    return rate;
  };
  std::vector<Pair> pairs = {
      {"PER/s, 256 in flight",
       [](const auto& options) { return run_box("nftables", 300'000, 256, options).per_second; },
       {},
       {},
       {}},
      {"PER/s, one at a time",
       [](const auto& options) { return run_box("nftables", 20'000, 1, options).per_second; },
       {},
       {},
       {}},
      {"packets/s, 1 pinhole, 1 flow",
       [&](const auto& options) { return forwarded(1, options); },
       {},
       {},
       {}},
      {"packets/s, 100,000 pinholes and flows",
       [&](const auto& options) { return forwarded(kMany, options); },
       {},
       {},
       {}}};
  for (int round = 0; round < rounds; ++round) {
    for (auto& pair : pairs) {
      pair.without.push_back(pair.measure({}));
      pair.with.push_back(pair.measure(counting));
      pair.ratio.push_back(pair.with.back() / pair.without.back());
    }
  }
  std::printf("%-38s %12s %12s %8s\n", "", "without", "counters", "ratio");
  for (const auto& pair : pairs) {
    std::printf("%-38s %12.0f %12.0f %8.2f\n", pair.name, median(pair.without), median(pair.with),
                median(pair.ratio));
  }
}

// --- miniupnpd -----------------------------------------------------------------------------------

constexpr const char* kUpnpTable =
    "printf 'table inet miniupnpd {\nchain forward1 { }\nchain prerouting1 { }\n"
    "chain postrouting1 { }\nchain forward { type filter hook forward priority 0; policy drop; "
    "jump forward1; }\nchain prerouting { type nat hook prerouting priority -100; "
    "jump prerouting1; }\nchain postrouting { type nat hook postrouting priority 100; "
    "jump postrouting1; }\n}\n' | nft -f -";
constexpr const char* kUpnpOptions =
    "ext_ifname=ext0\next_ip=8.8.4.1\nlistening_ip=int0\nport=0\nhttp_port=0\n"
    "enable_natpmp=yes\nenable_upnp=no\nupnp_table_name=miniupnpd\n"
    "upnp_nat_table_name=miniupnpd\nupnp_forward_chain=forward1\nupnp_nat_chain=prerouting1\n"
    "upnp_nat_postrouting_chain=postrouting1\nuuid=00000000-0000-0000-0000-000000000001\n"
    "allow 0-65535 0.0.0.0/0 0-65535\n";

/// A PCP MAP request (RFC 6887) of the host 10.0.0.2 for a UDP port.
std::string map_request(std::uint16_t port) {
  std::string request(60, '\0');
  const auto put = [&](std::size_t at, std::initializer_list<int> octets) {
    for (const int octet : octets) request[at++] = static_cast<char>(octet);
  };
  put(0, {2, 1, 0, 0, 0, 0, 14, 16});                                   // version, MAP, 3600 s
  put(18, {255, 255, 10, 0, 0, 2});                                     // client
  put(24, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, port >> 8, port & 255, 17});  // nonce, UDP
  put(40, {port >> 8, port & 255, port >> 8, port & 255});
  put(54, {255, 255});
  return request;
}

/// Adds mappings one at a time and prints what one takes at 10, 100 and 1,000, as far as it gets in
/// `limit`.
template <typename Add>
void time_mappings(const char* name, std::chrono::seconds limit, Add&& add) {
  const auto end = Clock::now() + limit;
  std::vector<double> times_ms;
  for (std::uint32_t count = 1; count <= 1'000 && Clock::now() < end; ++count) {
    const auto begin = Clock::now();
    add(count);
    times_ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    if (count != 10 && count != 100 && count != 1'000) continue;
    const double last = median({times_ms.end() - 10, times_ms.end()});
    std::printf("%-10s at %4u mappings: %9.3f ms each, %9.1f changes/s\n", name, count, last,
                1'000 / last);
    std::fflush(stdout);
  }
  if (times_ms.size() < 1'000) {
    std::printf("%-10s gave up at %zu mappings after %lld s: the last took %.0f ms\n", name,
                times_ms.size(), static_cast<long long>(limit.count()), times_ms.back());
  }
}

void bench_miniupnpd() {
  const NetworkNamespace inside;
  const NetworkNamespace router;
  router.enter();
  router.shell("ip link add int0 type veth peer name eth0; ip link set eth0 netns " +
               inside.path() +
               "; ip link add ext0 type veth peer name ext1; ip addr add 10.0.0.1/24 dev int0; "
               "ip addr add 8.8.4.1/24 dev ext0; for i in int0 ext0 ext1; do ip link set $i up; "
               "done");
  inside.shell(
      "ip addr add 10.0.0.2/24 dev eth0; ip link set eth0 up; "
      "ip route add default via 10.0.0.1");
  {
    Box box("nftables", {"--mode", "nat", "--outside", "8.8.4.1"});
    time_mappings("simco", std::chrono::seconds(60), [&](std::uint32_t) { box.add_binding(); });
    box.check();
  }
  const std::string base = "/tmp/bench-miniupnpd-" + std::to_string(::getpid());
  std::FILE* options = std::fopen((base + ".conf").c_str(), "w");
  std::fputs(kUpnpOptions, options);
  std::fclose(options);
  router.shell(kUpnpTable);
  const pid_t server = start(0, {"miniupnpd", "-d", "-f", base + ".conf", "-P", base + ".pid"});
  const simco::test::Udp client(inside, {"10.0.0.2", 40'000});
  ::usleep(500'000);
  int status = 0;
  if (::waitpid(server, &status, WNOHANG) == server) {
    std::printf("miniupnpd is not installed (package miniupnpd-nftables)\n");
  } else {
    time_mappings("miniupnpd", std::chrono::seconds(120), [&](std::uint32_t count) {
      client.send({"10.0.0.1", 5351}, map_request(static_cast<std::uint16_t>(2'000 + count)));
      const auto reply = client.receive(std::chrono::seconds(60));
      if (!reply || reply->text.size() < 4 || reply->text[3] != 0) die("PCP");
    });
    stop(server);
  }
  ::unlink((base + ".conf").c_str());
  ::unlink((base + ".pid").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::pair<std::string_view, std::function<void()>>> benches = {
      {"rate", bench_rate},          {"live", bench_live},         {"forward", bench_forward},
      {"fastpath", bench_fast_path}, {"counters", bench_counters}, {"miniupnpd", bench_miniupnpd}};
  const auto wanted = std::find_if(benches.begin(), benches.end(), [&](const auto& bench) {
    return argc > 2 && bench.first == argv[2];
  });
  if (wanted == benches.end()) {
    std::fprintf(
        stderr,
        "usage: bench-nftables path/to/simco-middlebox rate|live|forward|fastpath|counters|"
        "miniupnpd "
        "[rounds]\n");
    return 2;
  }
  middlebox_program = argv[1];
  if (argc > 3) rounds = std::max(1, std::atoi(argv[3]));
  ::signal(SIGPIPE, SIG_IGN);
  if (!simco::test::become_able_to_make_namespaces() || ::unshare(CLONE_NEWNET) != 0)
    die("network namespace");
  if (std::system("ip link set lo up; ip link add int0 type veth peer name int1; ip link add ext0 "
                  "type veth peer name ext1") != 0) {
    die("ip");
  }
  pin(1);
  wanted->second();
}
