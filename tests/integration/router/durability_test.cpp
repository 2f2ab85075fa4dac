// Rules that outlive the middlebox, with the kernel's packet filter and real packets: killed, it
// comes back with every rule that it acknowledged, and traffic does not notice.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>

#include "tests/support/folder.hpp"
#include "tests/support/router_box.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/stream.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;

class Durability : public testing::TestWithParam<const char*> {
 protected:
  Network net;
  Folder folder{"state"};

  Words options() const {
    const Words words{"--state", folder.file("rules.db"), "--max-lifetime",
                      "3600",    "--audit-rate",          "0"};
    const std::string mode = GetParam();
    if (mode == "firewall") return words;
    net.router.output("ip addr add 192.0.2.10/32 dev ext0 2>&1");
    return words + Words{"--mode", mode, "--outside", "192.0.2.10"};
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, Durability, testing::Values("firewall", "nat"),
                         [](const auto& mode) { return std::string(mode.param); });

// Under load, and with the kernel's elements compared: campaigns/kill.
TEST_P(Durability, KilledItComesBackWithEveryRuleAndNoPacketIsLost) {
  const Udp host(net.inside, {"10.0.0.2", 5004});
  const Udp peer(net.outside, {"192.0.2.2", 6004});
  auto box = std::make_unique<RouterBox>(net.router, options());
  const auto media = box->agent().enable("10.0.0.2:5004", "192.0.2.2:6004", kProtocolUdp,
                                         Direction::kBidirectional, 3600);
  Stream stream(peer, endpoint_of(media.outside), host);
  std::vector<PolicyRuleId> rules{media.pid};
  for (std::uint16_t port = 10'000; port < 10'010; port += 2) {
    const auto endpoint = ":" + std::to_string(port);
    rules.push_back(box->agent().enable("10.0.0.3" + endpoint, "192.0.2.3" + endpoint).pid);
    box->kill();
    box = std::make_unique<RouterBox>(net.router, options());
    EXPECT_EQ(box->agent().rules(), rules);
    EXPECT_EQ(box->agent().status(media.pid).outside, media.outside);
  }
  EXPECT_TRUE(eventually([&] { return stream.sent() > 1000; }));
  stream.finish();
  EXPECT_EQ(stream.lost(), 0);
}

TEST_P(Durability, ALifetimeGoesOnWhileNobodyIsThere) {
  auto box = std::make_unique<RouterBox>(net.router, options());
  // It ends while the middlebox is away; where it ends before, another one is made.
  std::uint32_t lifetime_s = 2;
  const auto longer = box->agent().enable("10.0.0.2:5006", "192.0.2.2:6006", kProtocolUdp,
                                          Direction::kBidirectional, 3600);
  for (bool ends_meanwhile = false; !ends_meanwhile; lifetime_s *= 2) {
    const auto asked = std::chrono::steady_clock::now();
    box->agent().enable("10.0.0.2:5004", "192.0.2.2:6004", kProtocolUdp, Direction::kBidirectional,
                        lifetime_s);
    const auto granted = std::chrono::steady_clock::now();
    box->kill();
    const std::chrono::seconds lifetime(lifetime_s);
    ends_meanwhile = std::chrono::steady_clock::now() < asked + lifetime;
    std::this_thread::sleep_until(granted + lifetime + 500ms);
    box = std::make_unique<RouterBox>(net.router, options());
  }
  EXPECT_TRUE(box->says("restored 1 rules from the store; 1 had expired, 0 could not be restored"));
  EXPECT_EQ(box->agent().rules(), std::vector{longer.pid});
  EXPECT_LE(box->agent().status(longer.pid).lifetime.seconds, 3598U);
  // Identifiers go on where they were.
  EXPECT_GT(box->agent().enable("10.0.0.2:5008", "192.0.2.2:6008").pid, longer.pid);
}

TEST_P(Durability, FlowsOfTheTimeWithoutItAreNotInTheWay) {
  const Udp host(net.inside, {"10.0.0.2", 5004});
  const Udp peer(net.outside, {"192.0.2.2", 6004});
  auto box = std::make_unique<RouterBox>(net.router, options());
  const auto rule = box->agent().enable("10.0.0.2:5004", "192.0.2.2:6004", kProtocolUdp,
                                        Direction::kBidirectional, 600);
  const auto outside = endpoint_of(rule.outside);
  box->kill();
  // The kernel tracks connections for somebody else, and nobody translates or filters.
  net.router.shell(
      "nft delete table inet simco; nft add table inet site; nft add chain inet site in '{ type "
      "filter hook input priority 0; }'; nft add rule inet site in ct state new accept; "
      "conntrack -F 2>/dev/null");
  const Endpoint next{outside.address, static_cast<std::uint16_t>(outside.port + 1)};
  for (int i = 0; i < 3; ++i) {
    peer.send(outside, "early");
    peer.send(next, "earlier");
  }
  const auto tracks = [&](std::uint16_t port) {
    const auto flows = net.router.output("conntrack -L -p udp 2>/dev/null");
    return flows.contains(" dport=" + std::to_string(port));
  };
  EXPECT_TRUE(eventually([&] { return tracks(outside.port) && tracks(next.port); }));
  box = std::make_unique<RouterBox>(net.router, options());
  EXPECT_TRUE(host.gets(peer, outside));
  EXPECT_EQ(peer.gets(host, {"192.0.2.2", 6004}), outside);
  // Nor for the rule that is given the next port.
  const Udp other(net.inside, {"10.0.0.2", 5005});
  const auto later = box->agent().enable("10.0.0.2:5005", "192.0.2.2:6004");
  EXPECT_TRUE(other.gets(peer, endpoint_of(later.outside)));
}

/// Starts the middlebox with the state of `folder` in a full file system. What is mounted goes with
/// the shell's own mount namespace.
std::unique_ptr<Program> start_on_full_disk(const NetworkNamespace& router,
                                            const std::string& folder) {
  return start(router,
               {"/usr/bin/unshare", "-m", "/bin/sh", "-c",
                "set -e; mount -t tmpfs -o size=2m none " + folder + "/full; cp " + folder +
                    "/rules.db* " + folder + "/full; cat /dev/zero > " + folder +
                    "/full/filler 2>/dev/null || true; exec " SIMCO_BIN_DIR
                    "/simco-middlebox --backend nftables --internal-if int0 --external-if ext0 "
                    "--port 7621 --state " +
                    folder + "/full/rules.db"});
}

TEST(StateOnAFullDisk, DoesNotKeepItFromStarting) {
  Network net;
  const Folder folder{"full"};
  std::filesystem::create_directory(folder.path + "/full");
  PolicyRuleId pid;
  {
    RouterBox box(net.router, {"--state", folder.path + "/rules.db"});
    pid = box.agent().enable("10.0.0.2:5004", "192.0.2.2:6004").pid;
    box.kill();
  }
  const auto full = start_on_full_disk(net.router, folder.path);
  ASSERT_EQ(full->listening_port(), 7621);
  EXPECT_TRUE(full->err().contains("restored 1 rules from the store"));
  BoxAgent agent(net.router, 7621);
  // Nothing new is granted, but what is there can be ended.
  EXPECT_EQ(agent.refusal(BoxAgent::request("10.0.0.2:5006", "192.0.2.2:6004", kProtocolUdp,
                                            Direction::kBidirectional)),
            0x42);
  agent.remove(pid);
  full->signal(SIGTERM);
  EXPECT_EQ(full->wait(), 0) << full->err();
}

// An exception is like a kill: nothing is removed that nobody has asked to remove.
TEST(OutOfMemory, LeavesTheTableAsItWas) {
  constexpr int kMoreThanFit = 20'000;
  Network net;
  RouterBox box(net.router);
  const Udp host(net.inside, {"10.0.0.2", 5004});
  const Udp other(net.inside, {"10.0.0.2", 5005});
  const Udp peer(net.outside, {"192.0.2.2", 6004});
  box.agent().enable("10.0.0.2:5004", "192.0.2.2:6004");
  const rlimit nothing_more{1, 1};
  ASSERT_EQ(::prlimit(box.program().pid(), RLIMIT_AS, &nothing_more, nullptr), 0);
  const auto ask_for_too_much = [&] {
    for (int i = 0; i < kMoreThanFit; ++i) {
      box.agent().enable("10.0.0.3:" + std::to_string(10'000 + i), "192.0.2.3:6004");
    }
  };
  EXPECT_THROW(ask_for_too_much(), boost::system::system_error);
  const auto code = box.program().wait();
  ASSERT_TRUE(code);
  // A sanitizer's own allocator has its own end.
  EXPECT_NE(*code, 0) << box.program().err();
  if (!kSanitized) {
    EXPECT_EQ(*code, 1) << box.program().err();
    EXPECT_TRUE(box.program().err().contains("out of memory: stopping")) << box.program().err();
  }
  EXPECT_TRUE(host.gets(peer, {"10.0.0.2", 5004}));
  EXPECT_TRUE(other.misses(peer, {"10.0.0.2", 5005}));
}

}  // namespace
}  // namespace simco::test
