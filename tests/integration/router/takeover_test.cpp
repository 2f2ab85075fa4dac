// High availability: two routers that share addresses by VRRP (keepalived) and rules by Redis. The
// first is killed under traffic; the second goes on with its rules.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "agent/pinhole.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/router_box.hpp"

namespace simco::test {
namespace {

using namespace std::chrono_literals;
using boost::asio::use_future;

/// Until a connection over QUIC is over because nothing comes: longer than any test.
constexpr std::chrono::milliseconds kNever = 1h;

/// Three Ethernets, as bridges in a namespace of their own.
class Lan {
 public:
  Lan() {
    switches_.shell(
        "for b in in out sync; do ip link add br-$b type bridge forward_delay 0 && ip link set "
        "br-$b "
        "up; done");
  }
  /// Wires interface `name` of `host` to bridge `bridge`.
  void wire(const NetworkNamespace& host, const std::string& name, const std::string& bridge) {
    const auto port = "p" + std::to_string(++ports_);
    switches_.shell("ip link add " + port + " type veth peer name " + name + " netns " +
                    host.path() + " && ip link set " + port + " master br-" + bridge + " up");
    host.shell("ip link set " + name + " up");
  }

 private:
  NetworkNamespace switches_;
  int ports_ = 0;
};

/// One of the two routers, with everything that runs on it.
class Machine {
 public:
  /// `files`: of the middlebox, for agents over QUIC.
  Machine(Lan& lan, const std::string& folder, int number, const net::TlsFiles& files)
      : folder_(folder + "/" + std::to_string(number)),
        number_(std::to_string(number)),
        peer_(std::to_string(3 - number)),
        files_(files) {
    std::filesystem::create_directory(folder_);
    lan.wire(host, "int0", "in");
    lan.wire(host, "ext0", "out");
    lan.wire(host, "sync0", "sync");
    host.shell("echo 1 > /proc/sys/net/ipv4/ip_forward; ip addr add 10.0.0.1" + number_ +
               "/24 dev int0; ip addr add 192.0.2.1" + number_ +
               "/24 dev ext0; ip addr add 10.99.0." + number_ + "/24 dev sync0");
    write_configuration();
  }
  ~Machine() {
    if (alive_) die();
  }

  void boot() {
    host.shell("for i in int0 ext0 sync0; do ip link set $i up; done");
    redis_ = start(host, {"/usr/bin/redis-server", "--port", "6379", "--protected-mode", "no",
                          "--save", "", "--dir", folder_, "--repl-diskless-sync-delay", "0"});
    wait_for_redis(*redis_);
    keepalived_ = start(host, {"/usr/sbin/keepalived", "--dont-fork", "--log-console", "--vrrp",
                               "-f", folder_ + "/keepalived.conf", "-p",
                               folder_ + "/keepalived.pid", "-r", folder_ + "/vrrp.pid"});
    alive_ = true;
  }
  /// As when its plug is pulled.
  void die() {
    host.shell("for i in int0 ext0 sync0; do ip link set $i down; done");
    host.output("pkill -KILL -F " + folder_ + "/middlebox.pid 2>&1; pkill -KILL -F " + folder_ +
                "/vrrp.pid 2>&1");
    keepalived_->signal(SIGKILL);
    keepalived_->wait();
    redis_.reset();
    // The kernel's tables and addresses of a machine that is off are gone.
    host.output(
        "nft flush ruleset; ip addr del 10.0.0.1/24 dev int0 2>&1; "
        "ip addr del 192.0.2.1/24 dev ext0 2>&1; ip addr del 192.0.2.20/32 dev ext0 2>&1");
    std::filesystem::remove(folder_ + "/middlebox.log");
    alive_ = false;
  }
  bool serves() const { return contents_of(folder_ + "/middlebox.log").contains("listening on"); }
  bool follows() const { return redis("info replication").contains("master_link_status:up"); }
  std::string redis(const std::string& command) const {
    return host.output("redis-cli " + command);
  }
  std::string said() const {
    return contents_of(folder_ + "/middlebox.log") + keepalived_->out() + keepalived_->err();
  }

  NetworkNamespace host;

 private:
  void write_configuration() const {
    // The configuration that the project ships, for this machine's names.
    auto configuration = contents_of(SIMCO_SOURCE_DIR "/scripts/ha/keepalived.conf");
    const auto replace = [&](const std::string& from, const std::string& to) {
      const auto at = configuration.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      configuration.replace(at, from.size(), to);
    };
    replace("/usr/lib/simco/simco-takeover /etc/simco/ha.conf",
            SIMCO_SOURCE_DIR "/scripts/ha/simco-takeover " + folder_ + "/ha.conf");
    replace("unicast_src_ip 10.20.0.11", "unicast_src_ip 10.0.0.1" + number_);
    replace("unicast_peer { 10.20.0.12 }", "unicast_peer { 10.0.0.1" + peer_ + " }");
    replace("10.20.0.1/24", "10.0.0.1/24");
    replace("unicast_src_ip 198.51.100.11", "unicast_src_ip 192.0.2.1" + number_);
    replace("unicast_peer { 198.51.100.12 }", "unicast_peer { 192.0.2.1" + peer_ + " }");
    replace("198.51.100.1/24", "192.0.2.1/24");
    replace("198.51.100.8/32", "192.0.2.20/32");
    // A busy machine must not pass for a dead one: three seconds without a word, not 0.3.
    for (int instance = 0; instance < 2; ++instance) replace("advert_int 0.1", "advert_int 1");
    std::ofstream(folder_ + "/keepalived.conf") << configuration;
    std::ofstream(folder_ + "/start")
        << "#!/bin/sh\n" SIMCO_BIN_DIR
           "/simco-middlebox --backend nftables --internal-if int0 --external-if ext0 --mode nat "
           "--outside 192.0.2.20 --listen 192.0.2.1 --allow-anonymous --state "
           "redis://127.0.0.1 " +
               transports() + ">" + folder_ + "/middlebox.log 2>&1 &\necho $! >" + folder_ +
               "/middlebox.pid\n";
    std::ofstream(folder_ + "/stop") << "#!/bin/sh\nkill $(cat " + folder_ +
                                            "/middlebox.pid) 2>/dev/null || true\nrm -f " +
                                            folder_ + "/middlebox.log\n";
    std::ofstream(folder_ + "/ha.conf") << "PEER='10.99.0." + peer_ + " 6379'\nSTART=" + folder_ +
                                               "/start\nSTOP=" + folder_ +
                                               "/stop\nLOCK=" + folder_ + "/lock\n";
    for (const char* script : {"/start", "/stop"}) {
      std::filesystem::permissions(folder_ + script, std::filesystem::perms::owner_all);
    }
  }

  std::string transports() const {
#ifdef SIMCO_QUIC
    return "--transport tcp,quic --quic-idle-timeout " + std::to_string(kNever.count()) +
           " --tls-certificate " + files_.certificate + " --tls-key " + files_.key + " --tls-ca " +
           files_.authority + " ";
#else
    return {};
#endif
  }

  std::string folder_;
  std::string number_;
  std::string peer_;
  net::TlsFiles files_;
  std::unique_ptr<Program> redis_;
  std::unique_ptr<Program> keepalived_;
  bool alive_ = false;
};

/// A loop for agents on a host, on a thread of its own. It outlives the agents.
class Loop {
 public:
  explicit Loop(const NetworkNamespace& host)
      : thread_([this, &host] { host.run([this] { io_.run(); }); }) {}
  ~Loop() {
    io_.stop();
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  boost::asio::any_io_executor executor() { return io_.get_executor(); }

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      io_.get_executor()};
  std::thread thread_;
};

class Takeover : public testing::Test {
 protected:
  Takeover() {
    lan.wire(inside, "eth0", "in");
    lan.wire(outside, "eth0", "out");
    inside.shell("ip addr add 10.0.0.2/24 dev eth0; ip route add default via 10.0.0.1");
    outside.shell("ip addr add 192.0.2.2/24 dev eth0");
  }
  void boot() {
    first.boot();
    ASSERT_TRUE(eventually([&] { return first.serves(); })) << first.said();
    second.boot();
    ASSERT_TRUE(eventually([&] { return second.follows(); })) << second.said();
    EXPECT_FALSE(second.serves());
  }
  /// A session with the box that has the address.
  static std::unique_ptr<agent::Agent> open_session(Loop& loop,
                                                    const agent::AgentOptions& options = {}) {
    auto agent = std::make_unique<agent::Agent>(loop.executor(), options);
    agent->open({"192.0.2.1", 7626}, use_future).get();
    return agent;
  }
  /// A request for a rule between these two ports.
  static PerRequest between(std::uint16_t inside_port, std::uint16_t outside_port) {
    return BoxAgent::request("10.0.0.2:" + std::to_string(inside_port),
                             "192.0.2.2:" + std::to_string(outside_port), kProtocolUdp,
                             Direction::kBidirectional, 600);
  }
  static std::vector<PolicyRuleId> rules(agent::Agent& agent) {
    return agent.list(use_future).get();
  }

  const Folder folder{"takeover"};
  const Authority authority;
  const net::TlsFiles box_files = authority.issue("box", "IP:192.0.2.1");
  Lan lan;
  NetworkNamespace inside;
  NetworkNamespace outside;
  Machine first{lan, folder.path, 1, box_files};
  Machine second{lan, folder.path, 2, box_files};
};

TEST_F(Takeover, TheOtherBoxGoesOnWithTheRules) {
  boot();
  Loop loop(outside);
  const Udp host(inside, {"10.0.0.2", 5004});
  const Udp peer(outside, {"192.0.2.2", 6004});
  auto agent = open_session(loop);
  const auto rule = agent->enable(between(5004, 6004), use_future).get();
  const auto other = agent->enable(between(5006, 6006), use_future).get();
  const auto outside_end = endpoint_of(rule.outside);
  ASSERT_TRUE(host.gets(peer, outside_end));
  ASSERT_TRUE(eventually([&] { return second.redis("hlen simco:rules") == "2\n"; }));

  first.die();
  // With packets all the while.
  EXPECT_TRUE(eventually([&] { return !host.misses(peer, outside_end) && second.serves(); }))
      << second.said();
  // And back, from the same address and port.
  EXPECT_EQ(peer.gets(host, {"192.0.2.2", 6004}), outside_end);

  agent.reset();
  agent = open_session(loop);
  EXPECT_EQ(rules(*agent), (std::vector{rule.pid, other.pid}));
  agent->remove(other.pid, use_future).get();
  const auto third = agent->enable(between(5008, 6008), use_future).get();
  EXPECT_GT(third.pid, other.pid);

  // The first box comes back, as the one that waits; then the second is gone.
  first.boot();
  ASSERT_TRUE(eventually([&] { return first.follows(); })) << first.said();
  EXPECT_FALSE(first.serves());
  EXPECT_TRUE(second.serves());
  ASSERT_TRUE(eventually([&] { return first.redis("hlen simco:rules") == "2\n"; }));
  agent.reset();
  second.die();
  ASSERT_TRUE(eventually([&] { return first.serves(); })) << first.said();
  EXPECT_TRUE(eventually([&] { return host.gets(peer, outside_end).has_value(); }));
  agent = open_session(loop);
  EXPECT_EQ(rules(*agent), (std::vector{rule.pid, third.pid}));
}

#ifdef SIMCO_QUIC
// The first box cannot say that it is gone. The other one has the same key, so the agent believes
// it that the connection is over, opens its session again and finds its pinhole.
TEST_F(Takeover, AnAgentOverQuicComesToTheOtherBox) {
  boot();
  std::atomic<int> lost = 0;
  std::atomic<int> found = 0;
  agent::AgentOptions options;
  options.transport.transport = net::Transport::kQuic;
  options.transport.settings.quic.idle_timeout = kNever;
  options.transport.settings.quic.keep_alive = 200ms;
  options.transport.tls = load_tls(net::TlsSide::kAgent, authority.issue("proxy1"));
  options.reconnect.emplace();
  options.reconnect->on_change = [&](const boost::system::error_code& why) {
    ++(why ? lost : found);
  };
  Loop loop(outside);
  const Udp host(inside, {"10.0.0.2", 5004});
  const Udp peer(outside, {"192.0.2.2", 6004});
  const auto agent = open_session(loop, options);
  auto pinhole = agent::Pinhole::open(*agent, between(5004, 6004), use_future).get();
  const auto outside_end = endpoint_of(pinhole.rule().outside);
  ASSERT_TRUE(host.gets(peer, outside_end));
  ASSERT_TRUE(eventually([&] { return second.redis("hlen simco:rules") == "1\n"; }));
  EXPECT_EQ(lost, 0);
  first.die();
  EXPECT_TRUE(eventually([&] { return found > 0; })) << lost << " " << second.said();
  EXPECT_TRUE(second.serves());
  EXPECT_EQ(rules(*agent), std::vector{pinhole.rule().pid});
  EXPECT_TRUE(eventually([&] { return host.gets(peer, outside_end).has_value(); }));
  pinhole.close(use_future).get();
  EXPECT_TRUE(rules(*agent).empty());
}
#endif

}  // namespace
}  // namespace simco::test
