// The middlebox as a router's operator meets it: other people's changes of the ruleset, tables that
// are shared, starts that cannot work, privileges.
#include <gtest/gtest.h>

#include "tests/support/folder.hpp"
#include "tests/support/router_box.hpp"

namespace simco::test {
namespace {

class RouterOperation : public testing::Test {
 protected:
  Network net;
  const Endpoint internal{"10.0.0.2", 5004};
  const Endpoint external{"192.0.2.2", 6004};
  const Udp host{net.inside, internal};
  const Udp peer{net.outside, external};

  bool open() const { return host.gets(peer, internal).has_value(); }
  bool closed() const { return host.misses(peer, internal); }
  agent::EnabledRule enable(RouterBox& box) {
    return box.agent().enable("10.0.0.2:5004", "192.0.2.2:6004");
  }
  std::string ruleset() const { return net.router.output("nft list ruleset"); }
  /// Whether `condition` comes true within a second.
  template <typename Condition>
  bool soon(Condition condition) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  /// Runs the middlebox with `options` to its end.
  struct End {
    int code;
    std::string text;
  };
  End run(const std::vector<std::string>& options) const {
    std::vector<std::string> words = {"simco-middlebox", "--backend", "nftables", "--port", "0"};
    words.insert(words.end(), options.begin(), options.end());
    return net.router.run([&] {
      Program program(words);
      const auto code = program.wait(std::chrono::seconds(10));
      return End{code.value_or(-99), program.err()};
    });
  }
  const std::vector<std::string> interfaces{"--internal-if", "int0", "--external-if", "ext0"};
};

// --- What others do to the table -----------------------------------------------------------------

TEST_F(RouterOperation, AFlushedRulesetIsRestoredWithinASecond) {
  RouterBox box(net.router);
  enable(box);
  for (const char* command :
       {"nft flush ruleset", "nft delete table inet simco", "nft flush chain inet simco forward",
        "nft flush table inet simco", "nft add table inet simco '{ flags dormant; }'",
        "nft insert rule inet simco forward accept"}) {
    net.router.shell(command);
    EXPECT_TRUE(soon([&] {
      return ruleset().find("pid ") != std::string::npos &&
             ruleset().find("goto from-outside4") != std::string::npos &&
             ruleset().find("dormant") == std::string::npos;
    })) << command;
    EXPECT_TRUE(soon([&] { return host.misses(peer, {"10.0.0.2", 5005}) && !closed(); }))
        << command;
    const Udp other(net.inside, {"10.0.0.2", 5006});
    EXPECT_TRUE(soon([&] { return other.misses(peer, {"10.0.0.2", 5006}); })) << command;
  }
  EXPECT_TRUE(box.says("somebody else has removed table inet simco"));
  EXPECT_TRUE(box.says("is restored"));
}

TEST_F(RouterOperation, LostElementsAreRestored) {
  RouterBox box(net.router);
  const auto rule = enable(box);
  box.agent().enable("10.0.0.2:5006", "192.0.2.2:6004");
  const std::string element = "'{ 10.0.0.2 . 192.0.2.2 . udp . 5004 . 6004 }'";
  net.router.shell("nft delete element inet simco enable4_32.16_32.16_proto " + element);
  EXPECT_TRUE(soon([&] { return !closed(); }));
  EXPECT_TRUE(box.says("1 elements that somebody else has removed"));
  net.router.shell("nft flush set inet simco enable4_32.16_32.16_proto");
  EXPECT_TRUE(soon([&] { return !closed(); }));
  // A rule whose element is gone can be ended all the same, at once.
  net.router.shell("nft delete element inet simco enable4_32.16_32.16_proto " + element);
  box.agent().remove(rule.pid);
  EXPECT_TRUE(closed());
  EXPECT_FALSE(soon([&] { return !closed(); }));
}

TEST_F(RouterOperation, ElementsThatNobodyAskedForAreRemoved) {
  RouterBox box(net.router);
  box.agent().enable("10.0.0.2:5006", "192.0.2.2:6004");
  net.router.shell(
      "nft add element inet simco enable4_32.16_32.16_proto "
      "'{ 10.0.0.2 . 192.0.2.2 . udp . 5004 . 6004 timeout 1h }'");
  EXPECT_TRUE(soon([&] { return closed(); }));
  EXPECT_TRUE(box.says("1 elements that nobody asked for"));
}

TEST_F(RouterOperation, OtherTablesAreOtherPeoplesBusiness) {
  RouterBox box(net.router);
  enable(box);
  // One of every kind of set: what is read back has to be recognised.
  auto& agent = box.agent();
  agent.enable("10.0.0.2:20000/20000", "192.0.2.2", kProtocolUdp, Direction::kInbound);
  agent.enable("[2001:db8::1]:20000/20000", "[2001:db8::/32]", kProtocolUdp, Direction::kInbound);
  agent.enable("10.0.0.0/8:5004/2", "any", kProtocolUdp, Direction::kInbound);
  agent.enable("any", "198.51.100.0/24", kProtocolAny, Direction::kOutbound);
  agent.enable("[2001:db8::1]:5004", "any:80", kProtocolTcp, Direction::kOutbound);
  agent.disable("any", "203.0.113.0/24");
  net.router.shell("nft add table inet other; nft add chain inet other c");
  for (int i = 0; i < 50; ++i) {
    net.router.shell("nft add rule inet other c counter");
    box.agent().enable("10.0.0.2:" + std::to_string(7000 + i), "192.0.2.2:6004");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_TRUE(open());
  for (const char* word : {"somebody", "nobody"}) {
    EXPECT_EQ(box.program().err().find(word), std::string::npos) << box.program().err();
  }
  box.stop();
  EXPECT_NE(ruleset().find("table inet other"), std::string::npos);
}

// --- Shared tables -------------------------------------------------------------------------------

const char* const kSite =
    "table inet site {\n"
    "  chain simco-forward { }\n"
    "  chain forward {\n"
    "    type filter hook forward priority filter; policy drop;\n"
    "    udp dport 7777 accept\n"
    "    jump simco-forward\n"
    "  }\n"
    "}\n";

TEST_F(RouterOperation, ASitesChainsJumpToOurs) {
  const std::string file = testing::TempDir() + "site-" + std::to_string(::getpid()) + ".nft";
  std::ofstream(file) << "flush ruleset\n" << kSite;
  net.router.shell("nft -f " + file);
  const auto before = ruleset();
  {
    RouterBox box(net.router, {"--table", "site", "--table-mode", "shared"});
    EXPECT_TRUE(closed());
    const auto rule = enable(box);
    EXPECT_TRUE(open());
    const Udp site(net.inside, {"10.0.0.2", 7777});
    EXPECT_TRUE(site.gets(peer, {"10.0.0.2", 7777})) << "what the site allows goes on";
    net.router.shell("nft -f " + file);  // the site reloads its firewall
    EXPECT_TRUE(soon([&] { return !closed(); }));
    box.agent().remove(rule.pid);
    EXPECT_TRUE(closed());
    enable(box);
    box.stop();
  }
  EXPECT_EQ(ruleset(), before) << "no trace";
  ::unlink(file.c_str());
}

TEST_F(RouterOperation, ASharedTableMustBeThere) {
  auto options = interfaces;
  options.insert(options.end(), {"--table", "site", "--table-mode", "shared"});
  auto end = run(options);
  EXPECT_EQ(end.code, 1);
  EXPECT_NE(end.text.find("there is no table inet site"), std::string::npos) << end.text;
  net.router.shell("nft add table inet site");
  const auto before = ruleset();
  end = run(options);
  EXPECT_EQ(end.code, 1);
  EXPECT_NE(end.text.find("has no chain simco-forward: declare it"), std::string::npos) << end.text;
  EXPECT_EQ(ruleset(), before);
}

// --- Starts and ends -----------------------------------------------------------------------------

TEST_F(RouterOperation, AnOrderlyStopLeavesNoTrace) {
  const auto before = ruleset();
  RouterBox box(net.router);
  enable(box);
  box.stop();
  EXPECT_EQ(ruleset(), before);
}

TEST_F(RouterOperation, RulesAreKeptWhereThatIsAskedFor) {
  RouterBox box(net.router, {"--keep-rules"});
  enable(box);
  box.stop();
  EXPECT_TRUE(open());
  const Udp other(net.inside, {"10.0.0.2", 5005});
  EXPECT_TRUE(other.misses(peer, {"10.0.0.2", 5005}));
}

TEST_F(RouterOperation, ATableOfSomebodyElseIsLeftAlone) {
  net.router.shell("nft add table inet simco; nft add chain inet simco mine");
  const auto before = ruleset();
  const auto end = run(interfaces);
  EXPECT_EQ(end.code, 1);
  EXPECT_NE(end.text.find("the table inet simco is somebody else's; name another one"),
            std::string::npos)
      << end.text;
  EXPECT_EQ(ruleset(), before);
}

TEST_F(RouterOperation, TwoMiddleboxesDoNotShareATable) {
  RouterBox box(net.router);
  enable(box);
  const auto end = run(interfaces);
  EXPECT_EQ(end.code, 1);
  EXPECT_NE(end.text.find("another simco-middlebox has the table"), std::string::npos) << end.text;
  EXPECT_TRUE(open());
}

TEST_F(RouterOperation, AnInterfaceThatDoesNotExist) {
  const auto end = run({"--internal-if", "int7", "--external-if", "ext0"});
  EXPECT_EQ(end.code, 1);
  EXPECT_NE(end.text.find("--internal-if: there is no interface 'int7'"), std::string::npos)
      << end.text;
  EXPECT_EQ(ruleset(), "");
}

TEST_F(RouterOperation, WrongUsageIsSaidInOneLine) {
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"--internal-if", "int0", "--external-if", "int0"}).code, 2);
  auto options = interfaces;
  options.insert(options.end(), {"--table", "a b"});
  EXPECT_EQ(run(options).code, 2);
}

// --- Privileges ----------------------------------------------------------------------------------

std::uint64_t capabilities_of(pid_t pid, const std::string& which) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(which + ":"))
      return std::stoull(line.substr(which.size() + 1), nullptr, 16);
  }
  return ~std::uint64_t{0};
}
constexpr std::uint64_t kNetAdmin = std::uint64_t{1} << 12;

TEST_F(RouterOperation, NoThreadKeepsMore) {
  const Folder folder{"threads"};
  // Where root may write only by a privilege that is dropped.
  net.router.shell("chown 65534 " + folder.path);
  RouterBox box(net.router, {"--state", folder.path + "/rules.db", "--metrics", "127.0.0.1:9464"});
  enable(box);
  int threads = 0;
  const auto tasks = "/proc/" + std::to_string(box.program().pid()) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    const auto tid = static_cast<pid_t>(std::stoi(task.path().filename()));
    EXPECT_EQ(capabilities_of(tid, "CapEff"), kNetAdmin) << tid;
    EXPECT_EQ(capabilities_of(tid, "CapPrm"), kNetAdmin) << tid;
    ++threads;
  }
  EXPECT_GT(threads, 2);  // the loop, the store's, the metrics'
}

TEST_F(RouterOperation, OnlyNetAdminIsKept) {
  RouterBox box(net.router);
  enable(box);
  const auto pid = box.program().pid();
  EXPECT_EQ(capabilities_of(pid, "CapEff"), kNetAdmin);
  EXPECT_EQ(capabilities_of(pid, "CapPrm"), kNetAdmin);
  EXPECT_EQ(capabilities_of(pid, "CapBnd"), kNetAdmin);
  EXPECT_EQ(capabilities_of(pid, "CapAmb"), 0U);
  // All that it has to do later works with that.
  net.router.shell("nft flush ruleset");
  EXPECT_TRUE(soon([&] { return ruleset().find("pid ") != std::string::npos; }));
}

/// The command that runs the middlebox with the capabilities `caps` alone, as setpriv has them.
std::string with_capabilities(const std::string& caps, const std::string& log) {
  return "setpriv --bounding-set -all" + caps + " --inh-caps -all" + caps +
         " " SIMCO_BIN_DIR
         "/simco-middlebox --backend nftables --port 0 --internal-if int0 --external-if ext0 "
         ">" +
         log + " 2>&1";
}

TEST_F(RouterOperation, NetAdminAloneSuffices) {
  const auto log = testing::TempDir() + "caps-" + std::to_string(::getpid());
  net.router.shell(with_capabilities(",+net_admin", log) + " & echo $! > " + log + ".pid");
  EXPECT_TRUE(soon([&] {
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    return text.str().find("listening on tcp") != std::string::npos;
  }));
  pid_t pid = 0;
  std::ifstream(log + ".pid") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_EQ(capabilities_of(pid, "CapEff"), kNetAdmin);
  ::kill(pid, SIGTERM);
  EXPECT_TRUE(soon([&] { return ruleset().empty(); }));
  ::unlink(log.c_str());
  ::unlink((log + ".pid").c_str());
}

TEST_F(RouterOperation, WithoutNetAdminItSaysWhatIsMissing) {
  const auto log = testing::TempDir() + "caps-" + std::to_string(::getpid());
  const auto code = net.router.output(with_capabilities("", log) + "; echo $?");
  EXPECT_EQ(code, "1\n");
  std::stringstream text;
  text << std::ifstream(log).rdbuf();
  EXPECT_NE(text.str().find("not permitted; run as root, or with the capability CAP_NET_ADMIN"),
            std::string::npos)
      << text.str();
  ::unlink(log.c_str());
}

}  // namespace
}  // namespace simco::test
