// bench-nftables fastpath
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/bench/forwarding.hpp"
#include "tests/bench/nftables_box.hpp"
#include "tests/bench/packet_source.hpp"
#ifdef SIMCO_XDP
#include "tests/bench/xdp_forwarder.hpp"
#endif

namespace simco::bench {
namespace {

/// As forward(), to a host that drops arriving packets in its driver; `outward`: to the external
/// host.
double forward_to_card(const Forwarding& net, std::uint32_t flows, bool outward = false) {
  const auto& from = outward ? net.inside : net.outside;
  const auto& to = outward ? net.outside : net.inside;
  const PacketFlows packets{hardware_address(outward ? "int0" : "ext0"),
                            kOutsideHost,
                            kFirstHost,
                            flows,
                            kMediaPort,
                            outward};
  return to.run([&] {
    const PacketSink sink("eth0");
    from.run([&] { send_packets("eth0", packets, flows * 4); });
    const auto before = sink.arrived();
    const double each_ns = from.run([&] { return send_packets("eth0", packets, kForwardPackets); });
    require_all(sink.arrived() - before);
    return 1e9 / each_ns;
  });
}

/// A middlebox's options, and how many rules it has.
struct Load {
  std::uint32_t rules;
  std::vector<std::string> options;
  bool nat = false;

  Load with_fast_path(std::uint32_t entries) const {
    auto more = options;
    more.insert(more.end(), {"--fast-path", "xdp", "--fast-path-entries", std::to_string(entries)});
    return {rules, more, nat};
  }
};

/// Nanoseconds for each packet.
double forwarded(const Forwarding& net, const Load& load, std::uint32_t flows) {
  Box box("nftables", load.options);
  box.add_hosts(0, load.rules, load.nat ? kNatReplySize : kReplySize);
  const double rate = forward_to_card(net, flows, load.nat);
  net.router.shell("conntrack -F 2>/dev/null || true");
  return 1e9 / rate;
}

/// Each with the fast path beside the same without, and plain forwarding: hits, misses, a NAT, and
/// the additional cost of a PER, in processor time. A rule has two ports, and there is room for all
/// of them.
}  // namespace

void bench_fast_path() {
  const Forwarding net;
  receive_as_a_card("ext0");
  receive_as_a_card("int0");
  net.inside.run([] { receive_as_a_card("eth0"); });
  net.outside.run([] { receive_as_a_card("eth0"); });
  constexpr std::uint32_t kMost = 1'000'000;
  constexpr std::uint32_t kNatRules = 10'000;
  const Load none{kMany, {"--tracking", "all"}};
  const Load untracked{kMany, {"--tracking", "notrack"}};
  const Load nat{kNatRules, {"--mode", "nat", "--outside", "198.51.100.1-198.51.100.8"}, true};
  const Load most{kMost, none.options};
  const Load fast = none.with_fast_path(2 * kMany);
  const Load counting{kMany, {"--tracking", "all", "--counters"}};
  const auto per = [](std::uint32_t count, std::uint32_t window, const Load& load) {
    return 1e3 * run_box("nftables", count, window, load.options).cpu_us;
  };
  struct Row {
    std::string name;
    std::function<double()> measure;
    std::vector<double> results;
  };
  std::vector<Row> rows;
  const auto add = [&](std::string name, std::function<double()> measure) {
    rows.push_back({std::move(name), std::move(measure), {}});
  };
  for (const std::uint32_t flows : {1U, 10'000U, kMany}) {
    const auto text = ", " + std::to_string(flows) + " flows";
    add("plain forwarding" + text, [&net, flows] { return 1e9 / forward_to_card(net, flows); });
    add("nftables" + text, [&, flows] { return forwarded(net, none, flows); });
    add("nftables, notrack" + text, [&, flows] { return forwarded(net, untracked, flows); });
    add("hit" + text, [&, flows] { return forwarded(net, fast, flows); });
#ifdef SIMCO_XDP
    add("bare xdp" + text, [&net, flows] {
      const XdpForwarder forwarder(net);
      return 1e9 / forward_to_card(net, flows);
    });
#endif
  }
  add("NAT, nftables, 1 flow", [&] { return forwarded(net, nat, 1); });
  add("NAT, hit, 1 flow", [&] { return forwarded(net, nat.with_fast_path(4 * kNatRules), 1); });
  add("hit with --counters, 10000 flows",
      [&] { return forwarded(net, counting.with_fast_path(2 * kMany), 10'000); });
  add("hit, 10000 flows, 1000000 rules",
      [&] { return forwarded(net, most.with_fast_path(2 * kMost), 10'000); });
  add("miss, 10000 flows", [&] { return forwarded(net, none.with_fast_path(1), 10'000); });
  for (const auto& [window, count] : {std::pair(256U, 300'000U), {1U, 20'000U}}) {
    const auto text = "PER, " + std::to_string(window) + " in flight, ";
    add(text + "nftables", [&, window, count] { return per(count, window, none); });
    add(text + "fast path",
        [&, window, count] { return per(count, window, most.with_fast_path(2 * kMost)); });
  }
  for (int round = 0; round < rounds; ++round) {
    for (auto& row : rows) row.results.push_back(row.measure());
  }
  std::printf("%-40s %8s\n", "", "ns");
  for (const auto& row : rows) std::printf("%-40s %8.0f\n", row.name.c_str(), median(row.results));
}

}  // namespace simco::bench
