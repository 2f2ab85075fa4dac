#include "middlebox/config/agents_file.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "middlebox/config/arguments.hpp"
#include "middlebox/core/admission_control.hpp"
#include "tests/support/figures.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;

std::expected<Agents, std::string> read(const std::string& text) {
  const auto parsed = toml::parse(text);
  EXPECT_TRUE(parsed) << text;
  return read_agents(parsed.table(), "dir/box.toml");
}

std::string fault(const std::string& text) {
  const auto agents = read(text);
  return agents ? "" : agents.error();
}

TEST(Agents, WithoutAnyEverybodyMayDoEverything) {
  const auto agents = read("");
  ASSERT_TRUE(agents);
  EXPECT_TRUE(agents->directory.accepts_anonymous());
  EXPECT_FALSE(agents->directory.has_secrets());
}

TEST(Agents, EveryKey) {
  const auto agents = read(R"(
secret = "box"
[[agent]]
name = "proxy"
secret = "sesame"
sources = ["127.0.0.1", "2001:db8::/32"]
transactions = ["PER", "PLC"]
internal = ["10.0.0.0/8"]
external = ["192.0.2.0/24", "::/0"]
protocols = ["udp", 6]
internal-ports = [5060, "6000-6999"]
external-ports = ["1-65535"]
wildcards = ["external", "port"]
extend = false
max-rules = 7
max-elements = 70
max-sessions = 2
max-lifetime = 300
see = ["boss"]
change = ["*"]
[[agent]]
name = "anonymous@10.0.0.0/8"
)");
  ASSERT_TRUE(agents) << agents.error();
  EXPECT_EQ(agents->secret, "box");
  const auto* proxy = agents->directory.find("proxy");
  ASSERT_NE(proxy, nullptr);
  EXPECT_EQ(proxy->secret, "sesame");
  EXPECT_TRUE(proxy->allows_source(*parse_address("127.0.0.1")));
  EXPECT_FALSE(proxy->allows_source(*parse_address("127.0.0.2")));
  EXPECT_TRUE(proxy->allows(policy::Transaction::kPlc));
  EXPECT_FALSE(proxy->allows(policy::Transaction::kPea));
  EXPECT_EQ(proxy->internal.size(), 1U);
  EXPECT_EQ(proxy->external.size(), 2U);
  EXPECT_TRUE(proxy->allows_protocol(17) && proxy->allows_protocol(6));
  EXPECT_FALSE(proxy->allows_protocol(132) || proxy->allows_protocol(0));
  ASSERT_EQ(proxy->internal_ports.size(), 2U);
  EXPECT_EQ(proxy->internal_ports[0].last, 5060);
  EXPECT_EQ(proxy->internal_ports[1].last, 6999);
  EXPECT_FALSE(proxy->internal_wildcards || proxy->protocol_wildcards || proxy->may_extend);
  EXPECT_TRUE(proxy->external_wildcards && proxy->port_wildcards);
  EXPECT_EQ(proxy->rules_max, 7U);
  EXPECT_EQ(proxy->elements_max, 70U);
  EXPECT_EQ(proxy->sessions_max, 2U);
  EXPECT_EQ(proxy->lifetime_max_s, 300U);
  EXPECT_TRUE(proxy->sees("boss") && proxy->changes("anybody"));
  EXPECT_NE(agents->directory.find_anonymous(*parse_address("10.1.1.1")), nullptr);
  EXPECT_EQ(agents->directory.find_anonymous(*parse_address("11.1.1.1")), nullptr);
}

TEST(Agents, EveryMistakeNamesFileAndLine) {
  const std::string head = "[[agent]]\nname = \"p\"\nsecret = \"s\"\n";
  const std::pair<std::string, std::string> lines[] = {
      {"nmae = \"x\"", "'nmae' is not a valid key for an agent"},
      {"sources = \"10.0.0.0/8\"", "'sources' must be a list in brackets"},
      {"internal = [\"10.0.0.1/8\"]",
       "'internal' expects ADDRESS or PREFIX/LENGTH, got '10.0.0.1/8'"},
      {"external = [1.5]", "'external' must contain only strings and numbers"},
      {"protocols = [\"upd\"]", "'protocols' expects a protocol number"},
      {"protocols = [256]", "'protocols' expects a protocol number"},
      {"internal-ports = [\"9-8\"]", "'internal-ports' expects a port or LOW-HIGH, got '9-8'"},
      {"external-ports = [65536]", "'external-ports' expects a port or LOW-HIGH, got '65536'"},
      {"transactions = [\"PES\"]", "'transactions' expects PRR"},
      {"wildcards = [\"all\"]", "'wildcards' expects internal"},
      {"extend = 1", "'extend' must be true or false"},
      {"max-rules = -1", "'max-rules' must be a number"},
      {"max-lifetime = \"1h\"", "'max-lifetime' must be a number"},
      {"see = \"*\"", "'see' must be a list"},
  };
  for (const auto& [line, what] : lines) {
    EXPECT_TRUE(fault(head + line).starts_with("dir/box.toml:4: " + what)) << fault(head + line);
  }
  EXPECT_EQ(fault("agent = 5"), "dir/box.toml:1: agents must be written as [[agent]] tables");
  EXPECT_TRUE(
      fault("\n[[agent]]\nsecret = \"s\"").starts_with("dir/box.toml:2: agent without a name"));
  EXPECT_TRUE(
      fault("[[agent]]\nname = \"p\"").starts_with("dir/box.toml:1: agent 'p' needs a secret"));
  EXPECT_TRUE(
      fault("[[agent]]\nname = \"\"").starts_with("dir/box.toml:2: 'name' must be a string"));
  EXPECT_TRUE(fault("[[agent]]\nname = \"anonymous@x\"").starts_with("dir/box.toml:2: 'name'"));
  EXPECT_TRUE(fault("[[agent]]\nname = \"anonymous\"\nsecret = \"s\"")
                  .starts_with("dir/box.toml:1: agent 'anonymous' must not have a secret"));
  EXPECT_EQ(fault(head + head), "dir/box.toml:4: agent 'p' is already defined");
  EXPECT_TRUE(
      fault("secret = \"\"").starts_with("dir/box.toml:1: 'secret' must be a non-empty string"));
  EXPECT_TRUE(fault("secret-file = \"gone\"")
                  .starts_with("dir/box.toml:1: 'secret-file' names dir/gone, which cannot"));
}

TEST(Agents, SecretsFromFilesBesideTheConfiguration) {
  const std::string folder = testing::TempDir() + "simco-agents-" + std::to_string(::getpid());
  std::ofstream(folder + ".secret") << "two words\n";
  const auto name = folder.substr(folder.rfind('/') + 1) + ".secret";
  const auto parsed = toml::parse("secret-file = \"" + name + "\"");
  const auto agents = read_agents(parsed.table(), folder + ".toml");
  ::unlink((folder + ".secret").c_str());
  ASSERT_TRUE(agents) << agents.error();
  EXPECT_EQ(agents->secret, "two words");
}

// --- Pools -------------------------------------------------------------------------------------

TEST(NatOptions, Pools) {
  const auto pool =
      parse_pool({"192.0.2.9", "198.51.100.1-198.51.100.20", "203.0.113.0/24", "2001:db8::/120"});
  ASSERT_TRUE(pool) << pool.error();
  std::vector<std::uint32_t> counts;
  for (const auto& range : *pool) counts.push_back(range.count);
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{1, 20, 256, 256}));
  for (const char* bad : {"", "host", "192.0.2.9-192.0.2.8", "192.0.2.9-::1", "192.0.2.1/24",
                          "10.0.0.0/8", "::/64", "10.0.0.0-10.0.255.255"}) {
    EXPECT_FALSE(parse_pool({bad})) << bad;
  }
  EXPECT_FALSE(parse_pool({"192.0.2.0/24", "192.0.2.255"}));
  EXPECT_FALSE(parse_pool({"192.0.2.5", "192.0.2.0-192.0.2.5"}));
  EXPECT_TRUE(parse_pool({"192.0.2.5", "192.0.2.0-192.0.2.4"}));
}

TEST(NatOptions, PortPools) {
  policy::NatTable::Options nat;
  EXPECT_TRUE(parse_port_pool("1024-2047", nat));
  EXPECT_EQ(nat.first_port, 1024);
  EXPECT_EQ(nat.last_port, 2047);
  for (const char* bad : {"", "5", "0-5", "6-5", "1-65536", "a-b", "1-", "1-2-3"}) {
    EXPECT_FALSE(parse_port_pool(bad, nat)) << bad;
  }
}

// --- Guessing ----------------------------------------------------------------------------------

TEST(AuthBackoff, TokensAfterAWrongOneWaitForTheEndOfOnePause) {
  AuthBackoff backoff;
  const auto attacker = *parse_address("192.0.2.1");
  const auto other = *parse_address("192.0.2.2");
  const Instant now{1h};
  EXPECT_EQ(backoff.not_before(attacker, "proxy", now), now);
  // However many wrong ones come, and however many wait.
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(backoff.failed(attacker, "proxy", now), now + 1s);
    EXPECT_EQ(backoff.not_before(attacker, "proxy", now), now + 1s);
  }
  EXPECT_EQ(backoff.not_before(attacker, "proxy", now + 300ms), now + 1s);
  EXPECT_EQ(backoff.not_before(attacker, "proxy", now + 2s), now + 2s);
  EXPECT_EQ(backoff.not_before(other, "proxy", now), now);
  EXPECT_EQ(backoff.not_before(attacker, "sbc", now), now);
}

TEST(AuthBackoff, WhoWasRightBeforeDoesNotWait) {
  AuthBackoff backoff;
  const auto address = *parse_address("192.0.2.1");
  const Instant now{1h};
  backoff.failed(address, "proxy", now);
  backoff.succeeded(address, "proxy");
  EXPECT_EQ(backoff.not_before(address, "proxy", now), now);
  backoff.failed(address, "proxy", now);
  EXPECT_EQ(backoff.not_before(address, "proxy", now), now);
  backoff.failed(address, "sbc", now);
  EXPECT_EQ(backoff.not_before(address, "sbc", now), now + 1s);
}

TEST(AuthBackoff, AnIpv6HostIsItsNetwork) {
  AuthBackoff backoff;
  const Instant now{1h};
  backoff.failed(*parse_address("2001:db8::1"), "proxy", now);
  EXPECT_EQ(backoff.not_before(*parse_address("2001:db8::ffff:2"), "proxy", now), now + 1s);
  EXPECT_EQ(backoff.not_before(*parse_address("2001:db8:0:1::1"), "proxy", now), now);
}

TEST(AuthBackoff, RemembersSoManyOnly) {
  AuthBackoff backoff;
  Instant now{1h};
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const auto address = policy::advance(*parse_address("10.0.0.0"), i);
    backoff.failed(address, "proxy", now);
    backoff.succeeded(address, "proxy");
    ASSERT_LE(backoff.size(), 65'536U);
    ASSERT_LE(backoff.trusted(), 65'536U);
  }
  now += 1min;
  backoff.failed(*parse_address("192.0.2.1"), "proxy", now);
  EXPECT_EQ(backoff.size(), 1U);
}

}  // namespace
}  // namespace simco::middlebox
