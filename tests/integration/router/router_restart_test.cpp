// Restarts of the service as the package configures it, with a packet every millisecond: at no
// moment does one pass that no rule allows, or with an address that is not translated.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/support/folder.hpp"
#include "tests/support/router_box.hpp"
#include "tests/support/stream.hpp"

namespace simco::test {
namespace {

/// Packets that must not arrive, one every millisecond.
class Intruder {
 public:
  Intruder(const Udp& from, const Endpoint& to)
      : thread_([this, &from, to] {
          while (!ending_) {
            from.send(to, "intruder");
            ++sent_;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
        }) {}
  ~Intruder() {
    ending_ = true;
    thread_.join();
  }
  /// Waits until so many further packets have been sent.
  void send_more(int count) const {
    const int wanted = sent_ + count;
    EXPECT_TRUE(eventually([&] { return sent_ >= wanted; }));
  }

 private:
  std::atomic<bool> ending_ = false;
  std::atomic<int> sent_ = 0;
  std::thread thread_;
};

constexpr int kRestarts = 5;
constexpr int kPacketsBetween = 30;

class PackagedService : public testing::Test {
 protected:
  /// `lines`: the operator's additions to the packaged file.
  void start(const std::string& lines = "") {
    std::ifstream packaged(SIMCO_SOURCE_DIR "/scripts/packages/middlebox.toml");
    std::ofstream(file) << lines << packaged.rdbuf();
    box.emplace(net.router, options);
    intruder.emplace(other_peer, Endpoint{"10.0.0.3", 5004});
    escapee.emplace(other_host, Endpoint{"192.0.2.3", 6004});
  }
  /// Stop, nothing for a while, start: as systemctl restart and an upgrade of the package do.
  void restart() {
    intruder->send_more(kPacketsBetween);
    box->stop();
    intruder->send_more(kPacketsBetween);
    box.emplace(net.router, options);
    intruder->send_more(kPacketsBetween);
  }
  void expect_no_intrusion() {
    intruder.reset();
    escapee.reset();
    for (const Udp* at : {&other_host, &other_peer}) {
      const auto packet = at->receive(kStaysAway);
      EXPECT_FALSE(packet) << packet->text << " from " << packet->from.address;
    }
  }

  Network net;
  const Folder folder{"packaged"};
  const std::string file = folder.path + "/middlebox.toml";
  const Words options{"--config", file};
  const Udp host{net.inside, {"10.0.0.2", 5004}};
  const Udp peer{net.outside, {"192.0.2.2", 6004}};
  // No rule is for these.
  const Udp other_host{net.inside, {"10.0.0.3", 5004}};
  const Udp other_peer{net.outside, {"192.0.2.3", 6004}};
  std::optional<RouterBox> box;
  std::optional<Intruder> intruder;
  std::optional<Intruder> escapee;
};

TEST_F(PackagedService, ARestartOpensNothing) {
  start();
  for (int i = 0; i < kRestarts; ++i) {
    box->agent().enable("10.0.0.2:5004", "192.0.2.2:6004");
    EXPECT_TRUE(host.gets(peer, {"10.0.0.2", 5004}));
    restart();
    EXPECT_TRUE(host.misses(peer, {"10.0.0.2", 5004})) << "a rule that was not stored";
  }
  expect_no_intrusion();
}

TEST_F(PackagedService, ARestartLosesNothingThatIsStored) {
  start("state = \"" + folder.path + "/rules.db\"\n");
  box->agent().enable("10.0.0.2:5004", "192.0.2.2:6004");
  Stream stream(peer, {"10.0.0.2", 5004}, host);
  for (int i = 0; i < kRestarts; ++i) restart();
  stream.finish();
  EXPECT_EQ(stream.lost(), 0) << "of " << stream.sent();
  expect_no_intrusion();
}

TEST_F(PackagedService, ARestartLeavesNothingUntranslated) {
  start("mode = \"nat\"\noutside = [\"198.51.100.1\"]\n");
  for (int i = 0; i < kRestarts; ++i) {
    const auto rule = box->agent().enable("10.0.0.2:5004", "192.0.2.2:6004");
    EXPECT_EQ(peer.gets(host, {"192.0.2.2", 6004}), endpoint_of(rule.outside));
    {
      const Intruder media(host, {"192.0.2.2", 6004});
      restart();
    }
    while (const auto packet = peer.receive(kStaysAway)) {
      ASSERT_EQ(packet->from.address, "198.51.100.1");
    }
  }
  expect_no_intrusion();
}

TEST_F(PackagedService, ARestartThatFailsOpensNothing) {
  start();
  box->agent().enable("10.0.0.2:5004", "192.0.2.2:6004");
  box->stop();
  EXPECT_NE(net.router.output(SIMCO_BIN_DIR "/simco-middlebox --nonsense 2>&1; echo $?"), "0\n");
  intruder->send_more(kPacketsBetween);
  EXPECT_TRUE(host.gets(peer, {"10.0.0.2", 5004})) << "a rule that was granted";
  expect_no_intrusion();
}

TEST_F(PackagedService, RulesAreRemovedOnRequest) {
  start();
  const auto remove = [&] {
    return net.router.output(SIMCO_BIN_DIR
                             "/simco-middlebox --backend nftables --internal-if int0 --external-if "
                             "ext0 --remove-rules --config " +
                             file + " 2>&1; echo $?");
  };
  EXPECT_TRUE(remove().contains("another simco-middlebox uses table"));
  box->stop();
  net.router.shell("nft add table inet other");
  EXPECT_TRUE(remove().ends_with("\n0\n"));
  EXPECT_EQ(net.router.output("nft list ruleset"), "table inet other {\n}\n");
  EXPECT_TRUE(remove().ends_with("\n0\n")) << "nothing is left to remove";
  net.router.shell("nft add table inet simco");
  EXPECT_TRUE(remove().contains("was made by another program"));
}

}  // namespace
}  // namespace simco::test
