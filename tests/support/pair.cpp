#include "tests/support/pair.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/router_box.hpp"

namespace simco::test {

const Words Pair::kNat = {"--mode", "nat", "--outside", "192.0.2.20"};

namespace {

void replace(std::string& text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

/// The contents of `file` as doc/high-availability.md has them: the block behind its name.
std::string from_page(const std::string& file) {
  std::istringstream page(contents_of(SIMCO_SOURCE_DIR "/doc/high-availability.md"));
  std::string line;
  while (std::getline(page, line) && !line.ends_with("`" + file + "`:")) {
  }
  const std::string indent(7, ' ');
  std::string block;
  while (std::getline(page, line) && (line.empty() || line.starts_with(indent))) {
    if (!line.empty()) block += line.substr(indent.size()) + "\n";
  }
  EXPECT_FALSE(block.empty()) << file;
  return block;
}

}  // namespace

Ethernets::Ethernets() {
  switches_.shell(
      "for b in in out sync; do ip link add br-$b type bridge forward_delay 0 && ip link set br-$b "
      "up; done");
}

void Ethernets::wire(const NetworkNamespace& host, const std::string& name,
                     const std::string& bridge) {
  const auto port = "p" + std::to_string(++ports_);
  switches_.shell("ip link add " + port + " type veth peer name " + name + " netns " + host.path() +
                  " && ip link set " + port + " master br-" + bridge + " up");
  host.shell("ip link set " + name + " up");
}

// --- A box ---------------------------------------------------------------------------------------

PairBox::PairBox(Ethernets& ethernets, const std::string& folder, int number,
                 const std::string& advert_int, const Words& options)
    : folder_(folder + "/" + std::to_string(number)),
      number_(std::to_string(number)),
      peer_(std::to_string(3 - number)) {
  std::filesystem::create_directory(folder_);
  ethernets.wire(host, "int0", "in");
  ethernets.wire(host, "ext0", "out");
  ethernets.wire(host, "sync0", "sync");
  host.shell("echo 1 > /proc/sys/net/ipv4/ip_forward; ip addr add 10.0.0.1" + number_ +
             "/24 dev int0; ip addr add 192.0.2.1" + number_ +
             "/24 dev ext0; ip addr add 10.99.0." + number_ + "/24 dev sync0");
  write_keepalived_configuration(advert_int);
  write_service(options);
}

PairBox::~PairBox() {
  if (alive_) die();
}

void PairBox::boot() {
  host.shell("for i in int0 ext0 sync0; do ip link set $i up; done");
  redis_ = start(host, {"/usr/bin/redis-server", "--port", "6379", "--protected-mode", "no",
                        "--save", "", "--dir", folder_, "--repl-diskless-sync-delay", "0"});
  wait_for_redis(*redis_);
  keepalived_ = start(host, {"/usr/sbin/keepalived", "--dont-fork", "--log-console", "--vrrp", "-f",
                             folder_ + "/keepalived.conf", "-p", folder_ + "/keepalived.pid", "-r",
                             folder_ + "/vrrp.pid"});
  alive_ = true;
}

void PairBox::advertise_every(const std::string& advert_int) const {
  host.shell("sed -i 's/advert_int .*/advert_int " + advert_int + "/' " + folder_ +
             "/keepalived.conf && pkill -HUP -F " + folder_ + "/keepalived.pid");
}

void PairBox::signal_vrrp(int number) const {
  host.shell("pkill -" + std::to_string(number) + " -F " + folder_ + "/vrrp.pid");
}

void PairBox::copy_connections() {
  auto configuration = contents_of(SIMCO_SOURCE_DIR "/scripts/ha/conntrackd.conf");
  replace(configuration, "Destination_Address 10.99.0.2", "Destination_Address 10.99.0." + peer_);
  replace(configuration, "IPv4_address 10.99.0.1", "IPv4_address 10.99.0." + number_);
  replace(configuration, "198.51.100.1\n", "192.0.2.1\n");
  replace(configuration, "/var/lock", folder_);
  replace(configuration, "/run", folder_);
  std::ofstream(folder_ + "/conntrackd.conf") << configuration;
  conntrackd_ = start(host, {"/usr/sbin/conntrackd", "-C", folder_ + "/conntrackd.conf"});
}

void PairBox::unplug() {
  // Stopped, keepalived does not start VRRP again; killed, VRRP does not say goodbye.
  keepalived_->signal(SIGSTOP);
  host.output("pkill -KILL -F " + folder_ +
              "/vrrp.pid 2>&1; for i in int0 ext0 sync0; do ip link set $i down; done");
}

void PairBox::die() {
  unplug();
  host.output("pkill -KILL -F " + folder_ + "/middlebox.pid 2>&1");
  keepalived_->signal(SIGKILL);
  keepalived_->wait();
  takeover_.reset();
  conntrackd_.reset();
  redis_.reset();
  // The kernel's tables and addresses of a machine that is off are gone.
  host.output(
      "conntrack --flush 2>&1; nft flush ruleset; ip addr del 10.0.0.1/24 dev int0 2>&1; "
      "ip addr del 192.0.2.1/24 dev ext0 2>&1; ip addr del 192.0.2.20/32 dev ext0 2>&1");
  std::filesystem::remove(folder_ + "/middlebox.log");
  std::filesystem::remove(folder_ + "/middlebox.pid");
  alive_ = false;
}

bool PairBox::serves() const {
  return contents_of(folder_ + "/middlebox.log").contains("listening on");
}

bool PairBox::follows() const {
  return redis("info replication").contains("master_link_status:up") &&
         contents_of(folder_ + "/middlebox.log").contains("standing by");
}

bool PairBox::enforces(std::uint16_t port) const {
  return host.output("nft list ruleset").contains(" . " + std::to_string(port));
}

std::string PairBox::redis(const std::string& command) const {
  return host.output("redis-cli " + command);
}

void PairBox::stop_middlebox() { host.shell(folder_ + "/stop"); }
void PairBox::start_middlebox() { host.shell(folder_ + "/start"); }

void PairBox::signal(int number) const {
  host.shell("kill -" + std::to_string(number) + " $(cat " + folder_ + "/middlebox.pid)");
}

void PairBox::lose_place_without_redis() {
  redis_->signal(SIGSTOP);
  // It must not need this.
  std::ofstream(folder_ + "/ha.conf", std::ios::app) << "STOP=true\n";
  takeover_ = start(host, {SIMCO_SOURCE_DIR "/scripts/ha/simco-takeover", folder_ + "/ha.conf",
                           "INSTANCE", "simco", "BACKUP", "100"});
}

std::string PairBox::said() const {
  return contents_of(folder_ + "/middlebox.log") + keepalived_->out() + keepalived_->err();
}

// The configuration that the project ships, for this machine's names.
void PairBox::write_keepalived_configuration(const std::string& advert_int) const {
  auto configuration = contents_of(SIMCO_SOURCE_DIR "/scripts/ha/keepalived.conf");
  replace(configuration, "/usr/lib/simco/simco-takeover /etc/simco/ha.conf",
          SIMCO_SOURCE_DIR "/scripts/ha/simco-takeover " + folder_ + "/ha.conf");
  replace(configuration, "unicast_src_ip 10.20.0.11", "unicast_src_ip 10.0.0.1" + number_);
  replace(configuration, "unicast_peer { 10.20.0.12 }", "unicast_peer { 10.0.0.1" + peer_ + " }");
  replace(configuration, "10.20.0.1/24", "10.0.0.1/24");
  replace(configuration, "unicast_src_ip 198.51.100.11", "unicast_src_ip 192.0.2.1" + number_);
  replace(configuration, "unicast_peer { 198.51.100.12 }",
          "unicast_peer { 192.0.2.1" + peer_ + " }");
  replace(configuration, "198.51.100.1/24", "192.0.2.1/24");
  replace(configuration, "198.51.100.8/32", "192.0.2.20/32");
  for (int instance = 0; instance < 2; ++instance) {
    replace(configuration, "advert_int 0.02", "advert_int " + advert_int);
  }
  std::ofstream(folder_ + "/keepalived.conf") << configuration;
}

// As the page has it, and as a service manager does: started once, and gone when it has been
// stopped.
void PairBox::write_service(const Words& options) const {
  auto configuration = from_page("/etc/simco/middlebox.toml");
  replace(configuration, "198.51.100.1", "192.0.2.1");
  std::ofstream(folder_ + "/middlebox.toml") << configuration << "allow-anonymous = true\n";
  auto takeover = from_page("/etc/simco/ha.conf");
  replace(takeover, "10.99.0.2", "10.99.0." + peer_);
  std::ofstream(folder_ + "/ha.conf")
      << takeover << "START=" << folder_ << "/start\nSTOP=" << folder_ << "/stop\nCLOSE=" << folder_
      << "/close\nLOCK=" << folder_ << "/lock\n";
  std::string words;
  for (const auto& word : options) words += word + " ";
  const auto pid = "p=$(cat " + folder_ + "/middlebox.pid 2>/dev/null)\n";
  std::ofstream(folder_ + "/start")
      << "#!/bin/sh\n" + pid +
             "[ -n \"$p\" ] && [ -e /proc/$p/exe ] && exit 0\n" SIMCO_BIN_DIR
             "/simco-middlebox --config " +
             folder_ + "/middlebox.toml " + words + ">" + folder_ +
             "/middlebox.log 2>&1 &\necho $! >" + folder_ + "/middlebox.pid\n";
  std::ofstream(folder_ + "/stop") << "#!/bin/sh\n" + pid +
                                          "[ -n \"$p\" ] || exit 0\nkill $p 2>/dev/null\n"
                                          "while [ -e /proc/$p/exe ]; do sleep 0.02; done\nrm -f " +
                                          folder_ + "/middlebox.log " + folder_ +
                                          "/middlebox.pid\n";
  std::ofstream(folder_ + "/close") << "#!/bin/sh\n" + pid + "kill -USR1 $p\n";
  for (const char* script : {"/start", "/stop", "/close"}) {
    std::filesystem::permissions(folder_ + script, std::filesystem::perms::owner_all);
  }
}

// --- The pair ------------------------------------------------------------------------------------

Pair::Pair(const std::string& folder, const std::string& advert_int, const Words& options)
    : first(ethernets_, folder, 1, advert_int, options),
      second(ethernets_, folder, 2, advert_int, options) {
  ethernets_.wire(inside, "eth0", "in");
  ethernets_.wire(outside, "eth0", "out");
  inside.shell(
      "ip addr add 10.0.0.2/24 dev eth0; ip route add default via 10.0.0.1; "
      "ip addr add 10.0.0.3/24 dev eth0; ip route add 192.0.2.3 via 10.0.0.12");
  outside.shell(
      "ip addr add 192.0.2.2/24 dev eth0; ip route add default via 192.0.2.1; "
      "ip addr add 192.0.2.3/24 dev eth0; ip route add 10.0.0.3 via 192.0.2.12");
}

bool Pair::boot() {
  first.boot();
  if (!eventually([&] { return first.serves(); })) return false;
  second.boot();
  return eventually([&] { return second.follows(); });
}

}  // namespace simco::test
