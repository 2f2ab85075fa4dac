// The middlebox as a router's operator meets it: other people's changes of the ruleset, tables that
// are shared, starts that cannot work, privileges.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include <array>
#include <cstddef>

#include <fstream>

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
  /// Runs the middlebox to its end, which must be with `code`. Returns its complaint.
  std::string run(const Words& options, int code) const {
    const Words words{"simco-middlebox", "--backend", "nftables", "--port", "0"};
    return net.router.run([&] { return test::run(words + options, code).err; });
  }
  const Words interfaces{"--internal-if", "int0", "--external-if", "ext0"};
};

/// Others can change the table, as they always can before Linux 6.9.
const Words kUnclaimed = {"--claim-table", "no"};
const Words kClearing = {"--keep-rules=false"};

TEST_F(RouterOperation, SaysWhatTheKernelDoesNotForward) {
  const auto check = [this] {
    return run(interfaces + Words{"--check", "--check-user", "root"}, 0);
  };
  EXPECT_FALSE(check().contains("forwards no"));
  const std::string warning = "warning: the kernel forwards no ";
  net.router.shell("echo 0 > /proc/sys/net/ipv6/conf/all/forwarding");
  EXPECT_TRUE(check().contains(warning + "IPv6 packets: sysctl net.ipv6.conf.all.forwarding=1"));
  net.router.shell("echo 0 > /proc/sys/net/ipv4/ip_forward");
  EXPECT_TRUE(check().contains(warning + "IPv4 packets: sysctl net.ipv4.ip_forward=1"));
  // Without IPv6 addresses, nobody expects it.
  net.router.shell("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6");
  EXPECT_FALSE(check().contains(warning + "IPv6"));
}

// --- What others do to the table -----------------------------------------------------------------

const char* const kForeignChanges[] = {"nft flush ruleset",
                                       "nft delete table inet simco",
                                       "nft flush chain inet simco forward",
                                       "nft flush table inet simco",
                                       "nft add table inet simco '{ flags dormant; }'",
                                       "nft insert rule inet simco forward accept",
                                       "nft flush set inet simco enable4_32.16_32.16_proto"};

TEST_F(RouterOperation, AFlushedRulesetIsRestored) {
  RouterBox box(net.router, kUnclaimed);
  enable(box);
  for (const std::string command : kForeignChanges) {
    net.router.shell(command);
    EXPECT_TRUE(eventually([&] {
      return ruleset().contains("pid ") && ruleset().contains("goto from-outside4") &&
             !ruleset().contains("dormant");
    })) << command;
    EXPECT_TRUE(eventually([&] { return !closed(); })) << command;
    const Udp other(net.inside, {"10.0.0.2", 5006});
    EXPECT_TRUE(eventually([&] { return other.misses(peer, {"10.0.0.2", 5006}); })) << command;
  }
  EXPECT_TRUE(box.says("another program has removed table inet simco"));
  EXPECT_TRUE(box.says("is restored"));
}

// Whether the kernel can claim a table is tried on one of our own.
TEST_F(RouterOperation, AStartLeavesTablesOfSimilarNamesAlone) {
  net.router.shell("nft add table inet simco-trial; nft add chain inet simco-trial c");
  const auto before = net.router.output("nft list table inet simco-trial");
  RouterBox box(net.router);
  EXPECT_EQ(net.router.output("nft list table inet simco-trial"), before);
}

// No packet meets another ruleset, not even for a moment: there is nothing to restore.
TEST_F(RouterOperation, NobodyChangesATableThatIsClaimed) {
  RouterBox box(net.router);
  enable(box);
  const auto before = ruleset();
  if (!before.contains("flags owner")) {
    EXPECT_TRUE(box.says("this kernel cannot claim a table")) << box.program().err();
    utsname kernel{};
    ::uname(&kernel);
    int major = 0, minor = 0;
    std::sscanf(kernel.release, "%d.%d", &major, &minor);
    ASSERT_LT(std::pair(major, minor), std::pair(6, 9)) << "this kernel can claim a table";
    GTEST_SKIP() << "this machine: its kernel cannot claim a table";
  }
  const Udp other(net.inside, {"10.0.0.2", 5006});
  const auto rules = [&] {
    return net.router.output("nft -a list table inet simco | grep handle");
  };
  const auto handles = rules();
  for (const std::string command : kForeignChanges) {
    net.router.output(command + " 2>&1");
    EXPECT_EQ(rules(), handles) << command;
    EXPECT_TRUE(other.misses(peer, {"10.0.0.2", 5006})) << command;
    EXPECT_TRUE(open()) << command;
  }
  box.agent().enable("10.0.0.2:5006", "192.0.2.2:6004");
  EXPECT_TRUE(other.gets(peer, {"10.0.0.2", 5006}));
  EXPECT_FALSE(box.program().err().contains("another program")) << box.program().err();
  // The next middlebox takes over what one leaves that was killed.
  box.kill();
  EXPECT_TRUE(open());
  const Udp another(net.inside, {"10.0.0.2", 5007});
  EXPECT_TRUE(another.misses(peer, {"10.0.0.2", 5007}));
  RouterBox next(net.router, kClearing);
  EXPECT_TRUE(closed());
  EXPECT_TRUE(ruleset().contains("flags owner"));
  enable(next);
  EXPECT_TRUE(open());
  next.stop();
  EXPECT_EQ(ruleset(), "");
}

// Twice in quick succession: the second time comes while the first is being put right.
TEST_F(RouterOperation, ARulesetThatIsFlushedAgainAndAgainIsRestored) {
  RouterBox box(net.router, kUnclaimed);
  enable(box);
  const Udp other(net.inside, {"10.0.0.2", 5006});
  for (int burst = 0; burst < 40; ++burst) {
    net.router.shell("for i in 1 2 3; do nft flush ruleset; done; nft add table inet other");
    const auto back = [&] {
      const std::chrono::milliseconds at_once{0};
      while (other.receive(at_once) || host.receive(at_once)) continue;
      return other.misses(peer, {"10.0.0.2", 5006}) && !closed();
    };
    ASSERT_TRUE(eventually(back)) << burst << '\n' << box.program().err();
  }
}

TEST_F(RouterOperation, LostElementsAreRestored) {
  RouterBox box(net.router, kUnclaimed);
  const auto rule = enable(box);
  box.agent().enable("10.0.0.2:5006", "192.0.2.2:6004");
  const std::string element = "'{ 10.0.0.2 . 192.0.2.2 . udp . 5004 . 6004 }'";
  net.router.shell("nft delete element inet simco enable4_32.16_32.16_proto " + element);
  EXPECT_TRUE(eventually([&] { return !closed(); }));
  EXPECT_TRUE(box.says("restored 1 elements"));
  net.router.shell("nft flush set inet simco enable4_32.16_32.16_proto");
  EXPECT_TRUE(eventually([&] { return !closed(); }));
  // A rule whose element is gone can be ended all the same, at once.
  net.router.shell("nft delete element inet simco enable4_32.16_32.16_proto " + element);
  box.agent().remove(rule.pid);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(closed());
}

TEST_F(RouterOperation, ElementsThatNobodyAskedForAreRemoved) {
  RouterBox box(net.router, kUnclaimed);
  box.agent().enable("10.0.0.2:5006", "192.0.2.2:6004");
  net.router.shell(
      "nft add element inet simco enable4_32.16_32.16_proto "
      "'{ 10.0.0.2 . 192.0.2.2 . udp . 5004 . 6004 timeout 1h }'");
  EXPECT_TRUE(eventually([&] { return closed(); }));
  EXPECT_TRUE(box.says("removed 1 elements"));
}

TEST_F(RouterOperation, OtherTablesAreOtherPeoplesBusiness) {
  RouterBox box(net.router, kUnclaimed);
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
  EXPECT_TRUE(open());
  // The last look at the table, which finds something, comes after those that find nothing.
  net.router.shell(
      "nft delete element inet simco enable4_32.16_32.16_proto "
      "'{ 10.0.0.2 . 192.0.2.2 . udp . 5004 . 6004 }'");
  EXPECT_TRUE(box.says("restored 1 elements"));
  EXPECT_TRUE(eventually([&] { return !closed(); }));
  auto log = box.program().err();
  log.erase(log.find("restored 1 elements"));
  for (const char* word : {"another program", "no rule asks for"}) {
    EXPECT_FALSE(log.contains(word)) << log;
  }
  box.stop();
  EXPECT_TRUE(ruleset().contains("table inet other"));
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
  const Folder folder{"site"};
  const auto file = folder.write("site.nft", std::string("flush ruleset\n") + kSite);
  net.router.shell("nft -f " + file);
  const auto before = ruleset();
  {
    RouterBox box(net.router, {"--table", "site", "--table-mode", "shared", "--keep-rules=false"});
    EXPECT_TRUE(closed());
    const auto rule = enable(box);
    EXPECT_TRUE(open());
    const Udp site(net.inside, {"10.0.0.2", 7777});
    EXPECT_TRUE(site.gets(peer, {"10.0.0.2", 7777})) << "what the site allows goes on";
    net.router.shell("nft -f " + file);  // the site reloads its firewall
    EXPECT_TRUE(eventually([&] { return !closed(); }));
    box.agent().remove(rule.pid);
    EXPECT_TRUE(closed());
    enable(box);
    box.stop();
  }
  EXPECT_EQ(ruleset(), before) << "no trace";
}

TEST_F(RouterOperation, ASharedTableMustBeThere) {
  const auto options = interfaces + Words{"--table", "site", "--table-mode", "shared"};
  EXPECT_TRUE(run(options, 1).contains("there is no table inet site"));
  net.router.shell("nft add table inet site");
  const auto before = ruleset();
  EXPECT_TRUE(run(options, 1).contains("has no chain simco-forward: declare it"));
  EXPECT_EQ(ruleset(), before);
}

// --- Starts and ends -----------------------------------------------------------------------------

// What a killed middlebox leaves keeps the door closed, and a start that fails must not open it.
TEST_F(RouterOperation, AStartThatFailsLeavesTheKernelAsItWas) {
  const Folder folder{"start"};
  RouterBox box(net.router);
  enable(box);
  box.kill();
  const auto left = [&] { return net.router.output("nft -s -t list ruleset"); };
  const auto before = left();
  for (const auto& more : {Words{"--listen", "203.0.113.77", "--allow-anonymous"},  // not ours
                           {"--metrics", "203.0.113.77:9464"},
                           {"--state", folder.file("no/such/folder/rules.db")}}) {
    const auto complaint = run(interfaces + more, 1);
    EXPECT_EQ(left(), before) << complaint;
    EXPECT_TRUE(open());
    const Udp other(net.inside, {"10.0.0.2", 5005});
    EXPECT_TRUE(other.misses(peer, {"10.0.0.2", 5005})) << more.front();
  }
}

TEST_F(RouterOperation, ATableOfSomebodyElseIsLeftAlone) {
  net.router.shell("nft add table inet simco; nft add chain inet simco mine");
  const auto before = ruleset();
  EXPECT_TRUE(run(interfaces, 1)
                  .contains("table inet simco was made by another program; choose another name"));
  EXPECT_EQ(ruleset(), before);
}

TEST_F(RouterOperation, TwoMiddleboxesDoNotShareATable) {
  RouterBox box(net.router);
  enable(box);
  EXPECT_TRUE(run(interfaces, 1).contains("another simco-middlebox uses table inet"));
  EXPECT_TRUE(open());
}

/// A process of a user without rights that has the name of the table's lock, and perhaps all rights
/// in a user namespace of its own.
class Squatter {
 public:
  Squatter(const NetworkNamespace& router, bool own_namespace) : own_namespace_(own_namespace) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    pid_ = router.run([&] {
      const pid_t child = ::fork();
      if (child == 0) squat(ready[1]);
      return child;
    });
    ::close(ready[1]);
    char octet = 0;
    there_ = ::read(ready[0], &octet, 1) == 1;
    ::close(ready[0]);
  }
  ~Squatter() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  bool there() const { return there_; }

 private:
  [[noreturn]] void squat(int ready) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "simco-middlebox/simco";
    name.copy(address.sun_path + 1, name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::setresuid(65534, 65534, 65534) == 0 &&
        (!own_namespace_ || ::unshare(CLONE_NEWUSER) == 0) &&
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
        ::listen(socket, 1) == 0 && ::write(ready, "x", 1) == 1) {
      for (;;) ::pause();
    }
    ::_exit(1);
  }
  bool own_namespace_;
  pid_t pid_ = 0;
  bool there_ = false;
};

TEST_F(RouterOperation, AUserWithoutRightsCannotKeepItFromStarting) {
  for (const bool own_namespace : {false, true}) {
    const Squatter squatter(net.router, own_namespace);
    if (!squatter.there()) {
      GTEST_SKIP() << "this machine: we cannot become another user on it, or "
                      "users cannot have namespaces of their own";
    }
    RouterBox box(net.router);
    EXPECT_TRUE(box.says("of user 65534, which cannot be a middlebox, holds the lock name"));
    enable(box);
    EXPECT_TRUE(open());
  }
}

TEST_F(RouterOperation, AnInterfaceThatDoesNotExist) {
  EXPECT_TRUE(run({"--internal-if", "int7", "--external-if", "ext0"}, 1)
                  .contains("--internal-if: no interface 'int7'"));
  EXPECT_EQ(ruleset(), "");
}

TEST_F(RouterOperation, WrongUsageIsSaidInOneLine) {
  for (const auto& options : {Words{},
                              {"--internal-if", "int0", "--external-if", "int0"},
                              interfaces + Words{"--table", "a b"}}) {
    EXPECT_EQ(count_of(run(options, 2), "\n"), 1U);
  }
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

TEST_F(RouterOperation, OnlyNetAdminIsKept) {
  const Folder folder{"threads"};
  // Where root may write only by a privilege that is dropped.
  net.router.shell("chown 65534 " + folder.path);
  RouterBox box(net.router, {"--state", folder.file("rules.db"), "--metrics", "127.0.0.1:9464"});
  enable(box);
  int threads = 0;
  const auto tasks = "/proc/" + std::to_string(box.program().pid()) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    const auto tid = static_cast<pid_t>(std::stoi(task.path().filename()));
    EXPECT_EQ(capabilities_of(tid, "CapEff") & ~kNetAdmin, 0U) << tid;
    EXPECT_EQ(capabilities_of(tid, "CapPrm") & ~kNetAdmin, 0U) << tid;
    ++threads;
  }
  EXPECT_GT(threads, 2);  // the loop, the store's, the metrics'
  const auto pid = box.program().pid();
  EXPECT_EQ(capabilities_of(pid, "CapEff"), kNetAdmin);
  EXPECT_EQ(capabilities_of(pid, "CapBnd"), kNetAdmin);
  EXPECT_EQ(capabilities_of(pid, "CapAmb"), 0U);
  // All that it has to do later works with that.
  net.router.shell("nft flush ruleset");
  EXPECT_TRUE(eventually([&] { return ruleset().contains("pid "); }));
}

TEST_F(RouterOperation, NetAdminAloneSuffices) {
  const auto box = start_with(net.router, ",+net_admin", kClearing);
  box->listening_port();
  EXPECT_EQ(capabilities_of(box->pid(), "CapEff"), kNetAdmin);
  box->signal(SIGTERM);
  EXPECT_EQ(box->wait(), 0) << box->err();
  EXPECT_EQ(ruleset(), "");
}

TEST_F(RouterOperation, WithoutNetAdminItSaysWhatIsMissing) {
  const auto box = start_with(net.router, "");
  EXPECT_EQ(box->wait(), 1);
  EXPECT_TRUE(
      box->err().contains("not permitted; run as root, or with the capability CAP_NET_ADMIN"))
      << box->err();
}

}  // namespace
}  // namespace simco::test
