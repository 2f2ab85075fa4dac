// simcoctl and the middlebox's configuration as an operator uses them.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "simco/wire/tuple_text.hpp"
#include "tests/integration/router/box.hpp"
#include "tests/support/http.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/port.hpp"

namespace simco::test {
namespace {

using Json = nlohmann::json;

const std::string kNat = R"(port = 0
mode = "nat"
outside = ["198.51.100.1", "2001:db8:1::/127"]
secret-file = "box.secret"
[[agent]]
name = "proxy"
secret-file = "proxy.secret"
[[agent]]
name = "anonymous@127.0.0.1"
transactions = ["PRS", "PRL"]
see = ["proxy"]
)";

TEST(Simcoctl, EveryCommand) {
  Box box(kNat);
  const auto lifetime = std::to_string(kLongLifetimeS);
  const auto enabled = box.ask({"enable", "--internal", "10.0.0.5:5004/2", "--external",
                                "192.0.2.7:6000/2", "--udp", "--lifetime", lifetime});
  EXPECT_EQ(enabled.code, 0) << enabled.err;
  EXPECT_EQ(enabled.out,
            "rule 1: enabled for " + lifetime + " s, group 1, outside 198.51.100.1:1024/2 udp\n");
  const auto reserved = box.ask(
      {"--json", "reserve", "--udp", "--ports", "2", "--parity", "odd", "--lifetime", lifetime});
  EXPECT_EQ(reserved.code, 0) << reserved.err;
  EXPECT_EQ(Json::parse(reserved.out)["outside"]["text"], "198.51.100.1:1027/2");
  const auto after =
      box.ask({"--json", "enable", "--after", "#2", "--internal", "10.0.0.5:5007/2", "--external",
               "192.0.2.0/24", "--udp", "--same-parity", "--lifetime", lifetime});
  EXPECT_EQ(after.code, 0) << after.err;
  EXPECT_EQ(Json::parse(after.out)["pid"], 2);
  EXPECT_EQ(box.ask({"lifetime", "#2", "1900"}).out, "rule 2: lifetime 1900 s\n");
  const auto status = Json::parse(box.ask({"--json", "status", "#2"}).out);
  EXPECT_EQ(status["kind"], "enabled");
  EXPECT_EQ(status["direction"], "in");
  EXPECT_EQ(status["owner"], "proxy");
  EXPECT_EQ(status["external"]["text"], "192.0.2.0/24");
  EXPECT_EQ(status["internal"]["port"], 5007);
  EXPECT_EQ(box.ask({"list", "--pids"}).out, "1\n2\n");
  // Another agent, that may look.
  EXPECT_EQ(box.ask({"--json", "list", "--pids"}, "").out, "{\"pids\":[1,2]}\n");
  const auto table = box.ask({"list"}, "").out;
  EXPECT_TRUE(table.starts_with("PID ")) << table;
  EXPECT_TRUE(table.contains("  STATE    LEFT    OWNER  PROTOCOL  DIRECTION  INTERNAL")) << table;
  EXPECT_EQ(std::ranges::count(table, '\n'), 3) << table;
  EXPECT_EQ(box.ask({"disable", "--external", "192.0.2.0/25", "--lifetime", lifetime}).out,
            "rule 3: disable rule for " + lifetime + " s, ended rules 1, 2\n");
  EXPECT_EQ(box.ask({"list", "--pids"}).out, "3\n");
  EXPECT_EQ(box.ask({"delete", "#3"}).out, "rule 3: ended\n");
  EXPECT_EQ(box.ask({"--middlebox-secret-file", box.path("box.secret"), "list"}).code, 0);
}

TEST(Simcoctl, ExplainsWhatHappensToAPacket) {
  Box box(kNat);
  EXPECT_EQ(box.ask({"enable", "--internal", "10.0.0.5:5004/2", "--external", "192.0.2.7:6000/2",
                     "--udp"})
                .code,
            0);
  const auto passes = box.ask({"explain", "10.0.0.5:5005", "192.0.2.7:6001", "--udp", "--in"}, "");
  EXPECT_EQ(passes.code, 0) << passes.err;
  EXPECT_TRUE(passes.out.starts_with("passes: rule 1 of proxy lets it pass for another "))
      << passes.out;
  EXPECT_TRUE(
      passes.out.ends_with("; it must be sent to the outside address 198.51.100.1:1024/2\n"));
  const auto pair = box.ask({"--json", "explain", "10.0.0.5:5005", "192.0.2.7:6000", "--udp"}, "");
  const auto json = Json::parse(pair.out);
  EXPECT_EQ(json["verdict"], "dropped");
  EXPECT_EQ(json["near_misses"][0],
            "rule 1 of proxy pairs internal port 5005 with external 6001, not 6000");
  EXPECT_EQ(box.ask({"disable", "--external", "192.0.2.0/24"}).code, 0);
  const auto blocked = box.ask({"explain", "10.0.0.5:5005", "192.0.2.7:6001", "--udp", "--in"}, "");
  EXPECT_TRUE(blocked.out.starts_with("blocked: disable rule 2 of proxy blocks it")) << blocked.out;
  for (const Words& words : {Words{"explain", "10.0.0.5:1", "192.0.2.7:1"},
                             {"explain", "10.0.0.5", "192.0.2.7:1", "--udp"},
                             {"explain", "10.0.0.5:1", "192.0.2.0/24:1", "--udp"},
                             {"explain", "10.0.0.5:1", "[2001:db8::1]:1", "--udp"},
                             {"explain", "10.0.0.5:1", "192.0.2.7:1", "--udp", "--in", "--out"}}) {
    EXPECT_EQ(box.ask(words).code, 2);
  }
}

TEST(Simcoctl, IpVersions) {
  Box box(kNat);
  const auto outside = [&](const Words& options) {
    const auto reserved = box.ask(Words{"--json", "reserve", "--udp"} + options);
    EXPECT_EQ(reserved.code, 0) << reserved.err;
    return Json::parse(reserved.out)["outside"].value("ip_version", 0);
  };
  EXPECT_EQ(outside({}), 4);
  EXPECT_EQ(outside({"--ipv4"}), 4);
  EXPECT_EQ(outside({"--ipv6"}), 6);
  EXPECT_NE(outside({"--any-version"}), 0) << "the middlebox has chosen one";
  const auto both = box.ask({"reserve", "--udp", "--ipv4", "--any-version"});
  EXPECT_EQ(both.code, 2);
  EXPECT_TRUE(both.err.starts_with("simcoctl: give only one of --ipv4, --ipv6 and --any-version"))
      << both.err;
  // Where no address says which.
  const auto blocked = [&](const Words& options) {
    const auto rule = box.ask(Words{"--json", "disable", "--udp", "--internal", "any"} + options);
    const auto pid = Json::parse(rule.out)["pid"].get<int>();
    const auto status = box.ask({"--json", "status", "#" + std::to_string(pid)});
    EXPECT_EQ(status.code, 0) << status.err;
    return Json::parse(status.out)["external"].value("ip_version", 0);
  };
  EXPECT_EQ(blocked({}), 4);
  EXPECT_EQ(blocked({"--ipv6"}), 6);
  EXPECT_EQ(blocked({"--ipv6", "--external", "192.0.2.0/24"}), 4);
}

TEST(Simcoctl, ErrorsAreInWordsWithTheCode) {
  Box box(kNat);
  const auto missing = box.ask({"--json", "status", "77"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.err,
            "simcoctl: status 77: the middlebox refused: specified policy rule does "
            "not exist (0x0343)\n");
  EXPECT_EQ(Json::parse(missing.out)["reply"], "0x0343");
  const auto denied = box.ask({"enable", "--internal", "10.0.0.5", "--external", "192.0.2.7"}, "");
  EXPECT_EQ(denied.code, 1);
  EXPECT_TRUE(denied.err.contains("(0x0341)"));
  const auto fake = box.ask({"--middlebox-secret-file", box.path("wrong.secret"), "list"});
  EXPECT_EQ(fake.code, 1);
  EXPECT_TRUE(fake.err.contains("failed to authenticate itself"));
}

TEST(Simcoctl, WatchesUntilToldToStop) {
  Box box(kNat);
  Program watch(box.words({"--json", "watch"}, ""));
  Program two(box.words({"watch", "--count", "2"}, ""));
  // It hears of changes after its session is open: rules are made until it has heard of one.
  int next = 5000;
  EXPECT_TRUE(eventually([&] {
    const auto port = std::to_string(next++);
    box.ask({"enable", "--internal", "10.0.0.5:" + port, "--external", "192.0.2.7:6000", "--udp"});
    return !watch.out().empty() && !two.out().empty();
  }));
  const auto first = Json::parse(watch.out().substr(0, watch.out().find('\n')));
  EXPECT_EQ(first["lifetime"], 120);
  box.ask({"delete", "#1"});
  EXPECT_EQ(two.wait(), 0);
  EXPECT_EQ(std::ranges::count(two.out(), '\n'), 2);
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(), 0) << watch.err();
}

TEST(Simcoctl, TheLoadGeneratorAuthenticatesToo) {
  Box box(kNat);
  const auto port = std::to_string(box.port());
  const Words load{"simco-loadgen", "--connect", "127.0.0.1:" + port, "--count", "50",
                   "--rate",        "500",       "--abort-lag",       "600"};
  run(load + Words{"--name", "proxy", "--secret-file", box.path("proxy.secret"), "--rules", "10"},
      0);
  const auto anonymous = run(load, 1).out;
  EXPECT_TRUE(anonymous.contains("50 refused")) << anonymous;
}

TEST(Configuration, IsReadAgainOnSighup) {
  Box box("log-level = \"debug\"\n" + kNat);
  Program watch(box.words({"watch"}));
  ASSERT_TRUE(box.says("session opened for proxy"));
  box.ask({"enable", "--internal", "10.0.0.5", "--external", "192.0.2.7"});
  // A mistake changes nothing, and the log says which.
  box.configure(kNat + "max-rule = 5\n");
  box.program().signal(SIGHUP);
  EXPECT_TRUE(box.says("box.toml:12: 'max-rule' is not a valid key for an agent"));
  EXPECT_EQ(box.ask({"list", "--pids"}).out, "1\n");
  EXPECT_TRUE(watch.running());
  // proxy is gone, somebody else may see its rules; options that need a restart are logged.
  auto changed = kNat;
  changed.replace(changed.find("\"proxy\""), 7, "\"other\"");
  changed.replace(changed.find("mode"), 0, "max-lifetime = 77\n");
  box.configure(changed);
  box.program().signal(SIGHUP);
  EXPECT_TRUE(box.says("configuration reloaded"));
  EXPECT_TRUE(box.says("--max-lifetime has changed: restart to apply it"));
  EXPECT_EQ(watch.wait(), 1);
  EXPECT_TRUE(watch.err().contains("the middlebox ended the session"));
  EXPECT_EQ(box.ask({"list", "--pids"}, "").out, "1\n");
  box.program().signal(SIGTERM);
  EXPECT_EQ(box.program().wait(), 0);
}

TEST(Log, HasALineForEachChangeOfARule) {
  Box box(kNat);
  EXPECT_EQ(box.ask({"enable", "--internal", "10.0.0.5:5004", "--udp", "--lifetime", "1"}).code, 0);
  EXPECT_EQ(box.ask({"enable", "--internal", "10.0.0.6:5004", "--udp"}).code, 0);
  EXPECT_EQ(box.ask({"status", "#2"}).code, 0);
  EXPECT_EQ(box.ask({"delete", "#2"}).code, 0);
  EXPECT_TRUE(box.says(
      " info audit event=enable pid=1 group=1 owner=proxy by=proxy peer=127.0.0.1 protocol=udp "
      "internal=10.0.0.5:5004 external=any outside=198.51.100.1:1024 lifetime=1 outcome=done\n"));
  EXPECT_TRUE(box.says(" info audit event=delete pid=2 group=2 owner=proxy by=proxy peer="));
  EXPECT_TRUE(box.says(" info audit event=expire pid=1 group=1 owner=proxy protocol="));
  EXPECT_EQ(count_of(box.program().err(), "audit "), 4U);  // nothing without a change
}

TEST(Log, IsTheJournalsWhereItGoesThere) {
  Program box({"/bin/sh", "-c",
               "JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec " SIMCO_BIN_DIR
               "/simco-middlebox --port 0"});
  EXPECT_NE(box.listening_port(), 0);
  EXPECT_TRUE(box.err().starts_with("<4>backend null")) << box.err();
  EXPECT_TRUE(box.err().contains("\n<6>listening on ")) << box.err();
  Program other(
      {"/bin/sh", "-c", "JOURNAL_STREAM=1:1 exec " SIMCO_BIN_DIR "/simco-middlebox --port 0"});
  EXPECT_NE(other.listening_port(), 0);
  EXPECT_TRUE(other.err().starts_with("20")) << other.err();
}

TEST(Log, MetricsAreServedWhereAskedFor) {
  const auto port = free_port();
  Box box("metrics = \"127.0.0.1:" + std::to_string(port) + "\"\n" + kNat);
  EXPECT_TRUE(box.says("metrics at http://127.0.0.1:" + std::to_string(port) + "/metrics"));
  EXPECT_EQ(box.ask({"enable", "--internal", "10.0.0.5:5004/2", "--udp"}).code, 0);
  EXPECT_EQ(box.ask({"list"}, "wrong.secret").code, 1);
  const auto text = http_get(port, "/metrics");
  for (const char* figure :
       {"simco_sessions_opened_total 1\n",
        "simco_transactions_total{reply=\"ok\",type=\"PER\"} 1\n",
        "simco_rules{state=\"enabled\"} 1\n", "simco_authentication_failures_total 1\n",
        "simco_sessions_refused_total{code=\"0x0323\"} 1\n",
        "simco_pool_ports_in_use{ip=\"4\",pool=\"outside\"} 2\n",
        "simco_transaction_seconds_count{phase=\"reply\"} 1\n"}) {
    EXPECT_TRUE(text.contains(figure)) << figure << text;
  }
  EXPECT_TRUE(
      run({"simco-middlebox", "--port", "0", "--metrics", "127.0.0.1:" + std::to_string(port)}, 1)
          .err.contains("cannot serve metrics at 127.0.0.1:"));
}

TEST(TupleText, ReadsWhatItWrites) {
  const std::pair<const char*, const char*> same[] = {
      {"10.0.0.5:5004/2", "10.0.0.5:5004/2"},
      {"10.0.0.5:5004/1", "10.0.0.5:5004"},
      {"10.0.0.5", "10.0.0.5"},
      {"192.0.2.0/24:6000", "192.0.2.0/24:6000"},
      {"[2001:db8::5]:9", "[2001:db8::5]:9"},
      {"2001:db8::5", "2001:db8::5"},
      {"[2001:db8::/32]:9/3", "[2001:db8::/32]:9/3"},
      {"2001:db8::/32", "2001:db8::/32"},
      {"[::1]", "::1"},
      {"any", "any"},
      {"[2001:db8::5:5004]", "[2001:db8::5:5004]"},
      {"any:5060", "any:5060"},
      {"0.0.0.0/0", "any"},
  };
  for (const auto& [text, wanted] : same) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_TRUE(endpoint) << text;
    EXPECT_EQ(to_text(endpoint->tuple(IpVersion::kIpv4, 17, Location::kInternal)), wanted);
  }
  for (const char* text :
       {"", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536", "10.0.0.5:65535/2", "10.0.0.5:1/0",
        "10.0.0.5:1/x", "10.0.0.5/8", "[::1", "[::1]5", "host", "anyone", ":5060"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
  const std::map<std::string, std::string> wrong = {
      {"10.0.0.5:5004-5005", "'5004-5005' is not a port: write consecutive ports as 5004/2"},
      {"10.0.0.5:70000", "'70000' is not a port from 1 to 65535"},
      {"10.0.0.5:65535/2", "'2' is not a number of ports from 65535 on: there are 1"},
      {"phone.example:5004", "'phone.example' is not an IP address (names are not looked up)"},
      {"10.0.0.5/24", "'10.0.0.5/24' has bits set beyond /24: the prefix is 10.0.0.0/24"},
      {"10.0.0.0/33", "'33' is not a prefix length from 0 to 32"},
      {"[::1", "'[::1' has no ']'"},
      {"[::1]5", "only ':PORT' may follow the address, not '5'"},
      {":5060", "the address is missing"},
      {"2001:db8::5:5004",
       "'2001:db8::5:5004' is ambiguous: write [2001:db8::5:5004] for the address, or "
       "[2001:db8::5]:5004 for port 5004 of 2001:db8::5"},
      {"2001:db8::5:50040",
       "'2001:db8::5:50040': an IPv6 address with a port needs brackets: [2001:db8::5]:50040"},
  };
  for (const auto& [text, fault] : wrong) {
    const auto endpoint = parse_endpoint(text);
    EXPECT_EQ(endpoint ? "" : endpoint.error(), fault);
  }
  EXPECT_EQ(parse_protocol("udp"), 17);
  EXPECT_EQ(parse_protocol("132"), 132);
  for (const char* text : {"", "0", "256", "UDP", "17x"}) EXPECT_FALSE(parse_protocol(text));
  EXPECT_EQ(protocol_name(132), "sctp");
  EXPECT_EQ(protocol_name(200), "200");
}

// --- simcoctl top --------------------------------------------------------------------------------

TEST(Top, ShowsWhatTheMiddleboxDoes) {
  const auto metrics_port = free_port();
  const auto metrics = "127.0.0.1:" + std::to_string(metrics_port);
  Program box({"simco-middlebox", "--port", "0", "--metrics", metrics, "--mode", "nat", "--outside",
               "192.0.2.1", "--audit-rate", "0"});
  const auto port = std::to_string(box.listening_port());
  box.line_with("metrics at");
  // It goes on for as long as we look.
  Program load({"simco-loadgen", "--connect", "127.0.0.1:" + port, "--rate", "500", "--duration",
                "3600", "--rules", "100", "--abort-lag", "3600"});
  const std::string replies = "simco_transactions_total{reply=\"ok\",type=\"PER\"} ";
  ASSERT_TRUE(eventually([&] { return http_get(metrics_port, "/metrics").contains(replies); }));
  Json view;
  const auto shows_load = [&] {
    std::istringstream lines(run({"simcoctl", "top", "--metrics", metrics, "--interval", "0.7",
                                  "--count", "3", "--json"},
                                 0)
                                 .out);
    int views = 0;
    for (std::string line; std::getline(lines, line); ++views) view = Json::parse(line);
    EXPECT_EQ(views, 3);
    return view["transactions"]["PER"]["per_s"] > 0 && view["phases"]["kernel"]["p99_ms"] > 0;
  };
  // Not of an interval in which the load stands still.
  EXPECT_TRUE(eventually(shows_load)) << view;
  EXPECT_EQ(view["sessions"], 1);
  EXPECT_EQ(view["pools"]["outside IPv4"]["addresses_in_use"], 1);
  const auto text =
      run({"simcoctl", "top", "--metrics", metrics, "--interval", "0.1", "--count", "1"}, 0).out;
  EXPECT_TRUE(text.contains("transactions"));
  EXPECT_FALSE(text.contains('\033'));  // not a terminal
}

}  // namespace
}  // namespace simco::test
