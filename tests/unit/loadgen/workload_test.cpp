#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "loadgen/echo/echo_message.hpp"
#include "loadgen/limits.hpp"
#include "loadgen/options.hpp"
#include "loadgen/per/per_client.hpp"
#include "loadgen/recorder.hpp"
#include "middlebox/policy/checks.hpp"
#include "middlebox/policy/limits.hpp"

namespace simco::loadgen {
namespace {

std::expected<Settings, cli::UsageExit> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "simco-loadgen");
  return parse_settings(static_cast<int>(words.size()), words.data());
}

TEST(CallPinhole, IsAnotherOneForEachCall) {
  std::set<std::pair<std::uint16_t, std::array<std::byte, 16>>> seen;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const auto request = call_pinhole(i);
    EXPECT_TRUE(seen.emplace(request.internal.port, request.internal.address).second);
    EXPECT_EQ(request.internal.port % 2, 0);  // RTP is on even ports
    EXPECT_EQ(request.internal.port_range, 2);
    EXPECT_EQ(request.internal.protocol, kProtocolUdp);
    EXPECT_EQ(request.lifetime, Lifetime{120});
  }
}

TEST(CallPinhole, IsOneThatAFirewallWithoutWildcardsGrants) {
  Capabilities plain;
  for (const std::uint64_t index : {0ULL, 8191ULL, 8192ULL, 536'870'911ULL}) {
    const auto request = call_pinhole(index);
    EXPECT_EQ(policy::check_tuples(request.internal, request.external, request.parameters.direction,
                                   plain, policy::translatable_protocols()),
              std::nullopt);
  }
}

TEST(EchoMessage, ComesBackWholeOrNotAtAll) {
  std::array<std::byte, kEchoSize> octets;
  write_echo(77, octets);
  EXPECT_EQ(read_echo(octets), 77U);
  EXPECT_FALSE(decode(octets));  // no middlebox takes it for a request
  for (const std::size_t at : {0U, 8U, 63U}) {
    auto damaged = octets;
    damaged[at] ^= std::byte{1};
    EXPECT_FALSE(read_echo(damaged)) << at;
  }
  EXPECT_FALSE(read_echo(std::span(octets).first(63)));
}

TEST(LoadgenOptions, DefaultsAndValues) {
  auto settings = parse({});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->target, (net::HostPort{"127.0.0.1", 7626}));
  EXPECT_EQ(settings->generator.rate, 100);
  EXPECT_EQ(settings->generator.duration_s, 10);
  EXPECT_FALSE(settings->generator.count);
  EXPECT_EQ(settings->generator.seed, 1U);
  settings = parse({"--connect", "[::1]:9", "--count", "5", "--rate", "0.5", "--arrivals",
                    "constant", "--connections", "3", "--rules", "7"});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->target, (net::HostPort{"::1", 9}));
  EXPECT_EQ(settings->generator.count, 5U);
  EXPECT_EQ(settings->generator.arrivals, Arrivals::kConstant);
  EXPECT_EQ(settings->connections, 3U);
}

TEST(LoadgenOptions, WrongOnesAreOneLineAndExit2) {
  for (const auto& words :
       std::vector<std::vector<const char*>>{{"--rate", "0"},
                                             {"--rate", "-5"},
                                             {"--rate", "fast"},
                                             {"--connect", ":80"},
                                             {"--connect", "h:0"},
                                             {"--count", "0"},
                                             {"--workload", "rtp"},
                                             {"--arrivals", "x"},
                                             {"--connections", "0"},
                                             {"--count", "5", "--duration", "5"},
                                             {"--transport", "carrier-pigeon"}}) {
    const auto settings = parse(words);
    ASSERT_FALSE(settings) << words[1];
    EXPECT_EQ(settings.error().code, 2);
    EXPECT_FALSE(settings.error().text.contains('\n')) << settings.error().text;
  }
}

TEST(Workloads, HaveNamesOfTheirOwnAndTheFirstIsTheDefault) {
  std::set<std::string> names;
  for (const auto& type : workload_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    const auto settings = parse({"--workload", type.name});
    ASSERT_TRUE(settings) << settings.error().text;
    EXPECT_EQ(&settings->type(), &type);
    EXPECT_EQ(settings->target, (net::HostPort{"127.0.0.1", type.port}));
  }
  EXPECT_EQ(&parse({})->type(), workload_types().data());
  EXPECT_EQ(find_workload("carrier-pigeon"), std::nullopt);
}

TEST(Workloads, SayWhatTheyCannotDo) {
  const auto fault = [](std::vector<const char*> words) {
    const auto settings = parse(std::move(words));
    return settings ? std::string()
                    : settings.error().text.substr(0, settings.error().text.find(" ("));
  };
  EXPECT_EQ(
      fault({"--unordered"}),
      "simco-loadgen: --unordered requires --workload echo or sip --transport sctp: SIMCO messages "
      "are always ordered");
  EXPECT_EQ(fault({"--unordered", "--transport", "sctp"}), fault({"--unordered"}));
  EXPECT_EQ(
      fault({"--unordered", "--workload", "echo"}),
      "simco-loadgen: --unordered requires --workload echo or sip --transport sctp: tcp has no "
      "choice of order");
  EXPECT_EQ(fault({"--unordered", "--workload", "echo", "--transport", "sctp"}), "");
  EXPECT_EQ(fault({"--transport", "udp"}),
            "simco-loadgen: --transport udp requires --workload sip: SIMCO sends nothing again");
  EXPECT_EQ(
      fault({"--transport", "udp", "--workload", "sip", "--unordered"}),
      "simco-loadgen: --unordered requires --workload echo or sip --transport sctp: udp has no "
      "choice of order");
  EXPECT_EQ(fault({"--transport", "udp", "--workload", "sip", "--streams", "4"}),
            "simco-loadgen: --streams requires --transport sctp or quic");
  EXPECT_EQ(fault({"--rules", "3", "--workload", "echo"}),
            "simco-loadgen: --rules requires --workload per");
  EXPECT_EQ(fault({"--name", "proxy1", "--workload", "echo"}),
            "simco-loadgen: --name requires --workload per");
  EXPECT_NE(fault({"--name", "proxy1"}), "") << "without a secret";
}

TEST(Workloads, ExplainTheirRefusals) {
  const auto per = parse({"--rules", "3"});
  ASSERT_TRUE(per);
  const auto code = static_cast<std::uint32_t>(NegativeReplyCode::kNoResources);
  EXPECT_EQ(per->workload().describe({code}).name, "0x0342");
  EXPECT_EQ(per->workload().describe({code}).text, to_string(NegativeReplyCode::kNoResources));
  EXPECT_EQ(per->workload().remark({2, 1}), "2 rules deleted");
  EXPECT_EQ(parse({})->workload().remark({2, 1}), "");
}

TEST(HostPort, EveryWayToWriteIt) {
  using net::parse_host_port;
  const auto is = [](const char* text, const char* host, std::uint16_t port) {
    const auto parsed = parse_host_port(text, 7626);
    return parsed && *parsed == net::HostPort{host, port};
  };
  EXPECT_TRUE(is("example.org", "example.org", 7626));
  EXPECT_TRUE(is("example.org:80", "example.org", 80));
  EXPECT_TRUE(is("10.0.0.1:65535", "10.0.0.1", 65535));
  EXPECT_TRUE(is("::1", "::1", 7626));
  EXPECT_TRUE(is("[::1]", "::1", 7626));
  EXPECT_TRUE(is("[2001:db8::1]:99", "2001:db8::1", 99));
  // Two readings: brackets decide.
  EXPECT_TRUE(is("[::1:7702]", "::1:7702", 7626));
  EXPECT_EQ(parse_host_port("::1:7702", 7626).error(),
            "'::1:7702' is ambiguous: write [::1:7702] for the address, or [::1]:7702 for port "
            "7702 of ::1");
  for (const char* bad : {"", ":80", "h:", "h:0", "h:65536", "h:1x", "[::1", "[::1]80", "[]:1"}) {
    EXPECT_FALSE(parse_host_port(bad, 7626)) << bad;
  }
}

TEST(Recorder, CountsAndWritesSamplesInOrder) {
  Recorder recorder(true);
  const auto sample = [](std::uint64_t index, Outcome outcome) {
    Sample s;
    s.index = index;
    s.key = {index + 1};
    s.scheduled_ns = static_cast<std::int64_t>(index) * 1000;
    s.tried_ns = s.scheduled_ns + 10;
    s.sent_ns = s.scheduled_ns + 20;
    if (outcome == Outcome::kCompleted || outcome == Outcome::kRefused) {
      s.received_ns = s.scheduled_ns + 500;
    }
    s.outcome = outcome;
    return s;
  };
  recorder.finished(sample(2, Outcome::kTimedOut), {});
  recorder.finished(sample(0, Outcome::kCompleted), {});
  recorder.finished(sample(1, Outcome::kRefused), RefusalCode{486});
  EXPECT_EQ(recorder.counts().completed, 1U);
  EXPECT_EQ(recorder.counts().refused, 1U);
  EXPECT_EQ(recorder.counts().timed_out, 1U);
  EXPECT_EQ(recorder.counts().sent, 3U);
  EXPECT_EQ(recorder.refusals().at(RefusalCode{486}), 1U);
  EXPECT_DOUBLE_EQ(recorder.response().summary().mean, 500e-6);
  EXPECT_DOUBLE_EQ(recorder.service().summary().mean, 480e-6);
  const std::string path = testing::TempDir() + "samples-" + std::to_string(::getpid());
  ASSERT_TRUE(recorder.write_samples(path));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  ::unlink(path.c_str());
  EXPECT_EQ(text.str(),
            "index,tid,stream,scheduled_ns,sent_ns,received_ns,outcome\n"
            "0,1,0,0,20,500,completed\n"
            "1,2,0,1000,1020,1500,refused\n"
            "2,3,0,2000,2020,,timed_out\n");
  EXPECT_FALSE(recorder.write_samples("/nonexistent/samples.csv"));
}

TEST(Replay, KnowsTheMiddlebox) {
  EXPECT_EQ(kReplayedRulesMax, policy::kRulesMaxDefault);
  EXPECT_EQ(kReplayedLifetimeMaxS, policy::kLifetimeMaxDefault);
  EXPECT_EQ(kReplayedExpiryTick, policy::kExpiryTick);
}

}  // namespace
}  // namespace simco::loadgen
