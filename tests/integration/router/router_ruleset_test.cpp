// Saving and loading the kernel's ruleset: with rules of every shape, `nft -f` reads the output of
// `nft list ruleset`.
#include <gtest/gtest.h>

#include <ostream>
#include <regex>

#include "tests/integration/router/router.hpp"
#include "tests/support/folder.hpp"

namespace simco::test {
namespace {

struct Shape {
  std::string internal;
  std::string external;
  std::uint8_t protocol = kProtocolUdp;
  Direction direction = Direction::kInbound;
  bool disable = false;
};
constexpr Direction kBoth = Direction::kBidirectional;
constexpr Direction kOut = Direction::kOutbound;
constexpr Direction kIn = Direction::kInbound;

const std::vector<Shape> kFirewall = {
    {"10.0.0.2:5004", "192.0.2.2:6004", kProtocolUdp, kBoth},
    {"10.0.0.2:5004", "192.0.2.2:6004", kProtocolTcp, kBoth},
    {"10.0.0.2:5006/2", "192.0.2.2:6006/2", kProtocolUdp, kBoth},
    {"10.0.0.2:5009/7", "192.0.2.2:6008/7", kProtocolUdp, kBoth},
    {"10.0.0.2:5004", "192.0.2.2"},
    {"10.0.0.2", "192.0.2.2:80", kProtocolTcp, kOut},
    {"10.0.0.2:5004/2", "any"},
    {"10.0.0.2:5004", "any", kProtocolTcp},
    {"10.0.0.2", "any", IPPROTO_ICMP},
    {"10.1.0.0/16", "192.0.2.0/24:80", kProtocolTcp, kOut},
    {"10.0.0.0/8:5004/2", "any"},
    {"10.0.0.2:20000/20000", "192.0.2.2"},
    {"[2001:db8:1::2]:5004", "[2001:db8:2::2]:6004", kProtocolUdp, kBoth},
    {"[2001:db8:1::2]:5006/2", "[2001:db8:2::2]:6006/2", kProtocolUdp, kBoth},
    {"[2001:db8:1::2]:5009/7", "[2001:db8:2::2]:6008/7", kProtocolUdp, kBoth},
    {"[2001:db8:1::2]:5004/2", "any"},
    {"[2001:db8:1::/48]:5004", "any:80", kProtocolTcp},
    {"[2001:db8:1::2]", "[2001:db8::/32]", kProtocolAny, kOut},
    {"[2001:db8:1::2]:20000/20000", "[2001:db8::/32]"},
    {"any", "203.0.113.0/24", kProtocolUdp, kIn, true},
    {"any", "203.0.113.0/24:5000/2", kProtocolUdp, kIn, true},
    {"any", "203.0.113.0/25", kProtocolAny, kIn, true},
    {"10.9.0.0/16", "any", kProtocolAny, kIn, true},
    {"any", "any:9000/20000", kProtocolSctp, kIn, true},
    {"any", "[2001:db8:77::/48]", kProtocolAny, kIn, true},
};
// Sets for more kinds of wildcards than these and those above together are not to be had.
const std::vector<Shape> kWildcards = {
    {"10.0.0.2", "any", kProtocolAny, kOut},
    {"any:5004", "any", kProtocolSctp},
    {"any", "198.51.100.0/24", kProtocolAny, kOut},
    {"any", "any", kProtocolUdp, kOut},
    {"any", "any", kProtocolAny, kOut},
};
const std::vector<Shape> kNat = {
    {"10.0.0.2:5004", "192.0.2.2:6004", kProtocolUdp, kBoth},
    {"10.0.0.2:5006/2", "192.0.2.2:6006/2", kProtocolUdp, kBoth},
    {"10.0.0.2:5009/7", "192.0.2.2:6008/7", kProtocolUdp, kBoth},
    {"10.0.0.3:5004/2", "any"},
    {"10.0.0.3:80", "any", kProtocolTcp},
    {"10.0.0.3:5010", "192.0.2.2", kProtocolTcp, kOut},
    {"10.0.0.4", "192.0.2.2:80", kProtocolTcp, kOut},
    {"10.0.0.5", "any", kProtocolUdp, kOut},
    {"10.0.0.3:5012/2", "192.0.2.0/24"},
    {"10.0.0.3:5014", "192.0.0.0/16:6000", kProtocolTcp},
    {"10.0.0.6:5016/2", "192.0.2.0/24", kProtocolUdp, kOut},
    {"[2001:db8:1::5]:5012/2", "[2001:db8:2::/48]"},
    {"[2001:db8:1::2]:5004", "[2001:db8:2::2]:6004", kProtocolUdp, kBoth},
    {"[2001:db8:1::2]:5006/2", "[2001:db8:2::2]:6006/2", kProtocolUdp, kBoth},
    {"[2001:db8:1::3]:5004/2", "any"},
    {"[2001:db8:1::4]:5004", "[2001:db8:2::2]:6004", kProtocolTcp, kOut},
    {"any", "203.0.113.0/24", kProtocolUdp, kIn, true},
};
const std::vector<Shape> kTwiceNat = {
    {"10.0.0.2:5004", "192.0.2.2:6004", kProtocolUdp, kBoth},
    {"10.0.0.2:5006/2", "192.0.2.2:6006/2", kProtocolUdp, kBoth},
    {"10.0.0.3:5004", "192.0.2.3:6004", kProtocolTcp, kOut},
    {"10.0.0.3:5006", "192.0.2.3:6006"},
    {"[2001:db8:1::2]:5004", "[2001:db8:2::2]:6004", kProtocolUdp, kBoth},
    {"[2001:db8:1::2]:5006/2", "[2001:db8:2::2]:6006/2", kProtocolUdp, kBoth},
};

struct Setup {
  const char* name;
  Words options;
  const std::vector<Shape>* shapes;
  friend void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }
};
const std::vector<Setup> kSetups = {
    {"Firewall", {}, &kFirewall},
    {"Wildcards", {}, &kWildcards},
    {"AllowOutbound", {"--allow-outbound"}, &kFirewall},
    {"Counted", {"--counters"}, &kFirewall},
    {"Nat",
     {"--mode", "nat", "--outside", "198.51.100.1-198.51.100.9", "--outside", "2001:db8:5::1"},
     &kNat},
    {"TwiceNat",
     {"--mode", "twice-nat", "--outside", "198.51.100.1", "--outside", "2001:db8:5::1", "--inside",
      "10.9.0.1", "--inside", "2001:db8:9::1"},
     &kTwiceNat},
    {"Shared",
     {"--table", "site", "--table-mode", "shared", "--mode", "nat", "--outside",
      "198.51.100.1-198.51.100.9", "--outside", "2001:db8:5::1"},
     &kNat},
};

class SavedRuleset : public testing::TestWithParam<Setup> {
 protected:
  SavedRuleset() {
    if (std::string(GetParam().name) != "Shared") return;
    net.router.shell(
        "nft -f - <<'END'\n"
        "table inet site {\n"
        "  chain simco-forward { }\n  chain simco-prerouting { }\n  chain simco-postrouting { }\n"
        "  chain forward { type filter hook forward priority filter; policy drop; jump "
        "simco-forward; }\n"
        "  chain pre { type nat hook prerouting priority dstnat; jump simco-prerouting; }\n"
        "  chain post { type nat hook postrouting priority srcnat; jump simco-postrouting; }\n"
        "}\nEND");
  }
  /// Others may load a saved ruleset only into a table that is not claimed.
  Words options() const { return GetParam().options + Words{"--claim-table", "no"}; }
  static void make(BoxAgent& agent, const Shape& shape) {
    if (shape.disable) {
      agent.disable(shape.internal, shape.external, shape.protocol);
    } else {
      agent.enable(shape.internal, shape.external, shape.protocol, shape.direction);
    }
  }
  void save() const { net.router.shell("nft list ruleset > " + file); }
  /// The kernel's ruleset, without values that change by themselves.
  std::string ruleset() const {
    static const std::regex left(" expires [0-9a-z]+");
    return std::regex_replace(net.router.output("nft list ruleset"), left, "");
  }

  Network net;
  const Folder folder{"ruleset"};
  const std::string file = folder.file("saved.nft");
};
INSTANTIATE_TEST_SUITE_P(Setups, SavedRuleset, testing::ValuesIn(kSetups),
                         [](const auto& setup) { return std::string(setup.param.name); });

TEST_P(SavedRuleset, LoadsAgain) {
  RouterBox box(net.router, options());
  const auto check = [&] { return net.router.output("nft -c -f " + file + " 2>&1"); };
  save();
  EXPECT_EQ(check(), "") << "without a rule";
  for (const auto& shape : *GetParam().shapes) {
    make(box.agent(), shape);
    save();
    EXPECT_EQ(check(), "") << (shape.disable ? "disable " : "enable ") << shape.internal << ' '
                           << shape.external << ' ' << int{shape.protocol};
  }
  // No middlebox repairs the loaded table now.
  box.kill();
  const auto before = ruleset();
  EXPECT_TRUE(before.contains("pid "));
  net.router.shell("nft flush ruleset; nft -f " + file);
  EXPECT_EQ(ruleset(), before);
}

TEST_P(SavedRuleset, LetsThroughWhatItDidWhenItWasSaved) {
  const Udp host(net.inside, {"10.0.0.2", 5004});
  const Udp peer(net.outside, {"192.0.2.2", 6004});
  const Udp stranger(net.outside, {"192.0.2.3", 6004});
  RouterBox box(net.router, options());
  const auto rule = box.agent().enable("10.0.0.2:5004", "192.0.2.2:6004");
  const auto outside = endpoint_of(rule.outside);
  save();
  box.kill();
  net.router.shell("nft flush ruleset; conntrack -F 2>/dev/null; nft -f " + file);
  EXPECT_TRUE(host.gets(peer, outside));
  EXPECT_TRUE(host.misses(stranger, outside));
}

// With a table that is claimed, where the kernel can: nft loads a file as a whole or not at all, so
// the site's own firewall depends on ours.
TEST_P(SavedRuleset, DoesNotKeepTheSiteFromBooting) {
  net.router.shell("nft add table inet firewall; nft add chain inet firewall mine");
  {
    RouterBox box(net.router, GetParam().options);
    for (const auto& shape : *GetParam().shapes) make(box.agent(), shape);
    save();
    box.kill();
  }
  // A machine that has just started has nothing.
  const Network booted;
  EXPECT_EQ(booted.router.output("nft -f " + file + " 2>&1"), "");
  EXPECT_TRUE(booted.router.output("nft list ruleset").contains("chain mine"));
  RouterBox box(booted.router, GetParam().options);
  EXPECT_NE(box.agent().enable("10.0.0.2:4000", "192.0.2.2:4000").pid.value, 0U);
}

// The kernel keeps others from loading into a claimed table: its comment has the remedy.
TEST(ClaimedRuleset, SaysThatItIsNotToBeSaved) {
  const Network net;
  const Folder folder{"claimed"};
  const RouterBox box(net.router);
  const auto file = folder.file("saved.nft");
  net.router.shell("nft list ruleset > " + file);
  const auto saved = contents_of(file);
  if (!saved.contains("flags owner")) {
    GTEST_SKIP() << "this machine: its kernel cannot claim a table";
  }
  EXPECT_TRUE(saved.contains("comment \"made by simco-middlebox; before you save it, see"))
      << saved;
  EXPECT_TRUE(net.router.output("nft -c -f " + file + " 2>&1").contains("Operation not permitted"));
  // As doc/nftables.md recommends.
  net.router.shell("nft add table inet site; nft add chain inet site mine");
  net.router.shell("nft list ruleset | sed '/^table inet simco {/,/^}/d' > " + file);
  EXPECT_EQ(net.router.output("nft -c -f " + file + " 2>&1"), "");
  EXPECT_TRUE(contents_of(file).contains("chain mine"));
}

}  // namespace
}  // namespace simco::test
