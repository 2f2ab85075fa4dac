// simco-loadgen --workload sip and simco-sip as users start them.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/port.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

/// The fields of each line below the first.
std::vector<std::vector<std::string>> rows_of(const std::string& path) {
  std::vector<std::vector<std::string>> result;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    auto& row = result.emplace_back();
    std::istringstream fields(line + ",");
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
  }
  return result;
}

class SipPrograms : public testing::Test {
 protected:
  const Folder folder_{"sip-programs"};
  const std::string udp_ = std::to_string(free_port());
  const Words sctp_{"--sctp-stack", "userland", "--udp-encaps", udp_};

  static Words server(const Words& more) { return Words{"simco-sip", "--port", "0"} + more; }
  /// The load generator; it may be late: that is no failure here.
  Words load(Program& server, const std::string& transport, const Words& more = {}) const {
    const auto port = std::to_string(server.listening_port(transport));
    return Words{"simco-loadgen",    "--workload", "sip",         "--abort-lag", "0",
                 "--timeout",        "600",        "--transport", transport,     "--connect",
                 "127.0.0.1:" + port} +
           more + (transport == "sctp" ? sctp_ : Words{});
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
};

TEST_F(SipPrograms, CallsOverUdpTcpAndSctp) {
  Program sip(server({"--transport", "udp,tcp,sctp"}) + sctp_);
  int seed = 0;
  for (const auto& [transport, how] :
       std::vector<std::pair<std::string, Words>>{{"udp", {}},
                                                  {"udp", {"--connections", "3"}},
                                                  {"tcp", {"--response", "100"}},
                                                  {"sctp", {"--streams", "4"}},
                                                  {"sctp", {"--unordered", "--streams", "1"}}}) {
    const Words more{"--rate", "2000", "--count", "500",    "--json",
                     "-",      "--t1", "20000",   "--seed", std::to_string(++seed)};
    const auto results = nlohmann::json::parse(run(load(sip, transport, how + more), 0).out);
    EXPECT_EQ(results["transactions"]["completed"], 500) << transport;
    EXPECT_EQ(results["parameters"]["transport"], transport);
    EXPECT_EQ(results["workload_stats"]["stray_messages"], 0);
  }
}

TEST_F(SipPrograms, CallsOverTls) {
  const Authority authority;
  const auto box = authority.issue("server", "IP:127.0.0.1");
  const auto agent = authority.issue("agent", "DNS:agent");
  const auto files = [](const net::TlsFiles& f) {
    return Words{"--tls-ca", f.authority, "--tls-certificate", f.certificate, "--tls-key", f.key};
  };
  Program sip(server(files(box)));
  run(load(sip, "tcp", files(agent) + Words{"--rate", "1000", "--count", "200"}), 0);
}

TEST_F(SipPrograms, BothEndsHaveALineForEachCall) {
  Program sip(server({"--transport", "tcp", "--response", "none", "--samples", file("arrived"),
                      "--json", file("counts")}));
  run(load(sip, "tcp",
           {"--response", "none", "--drain", "1", "--rate", "2000", "--count", "300", "--warmup",
            "10", "--samples", file("sent"), "--json", file("json")}),
      0);
  ASSERT_TRUE(sip.running());
  sip.signal(SIGTERM);
  EXPECT_EQ(sip.wait(), 0) << sip.err();
  const auto json = nlohmann::json::parse(std::ifstream(file("json")));
  std::map<std::string, std::int64_t> arrived;
  for (const auto& row : rows_of(file("arrived"))) {
    ASSERT_EQ(row.size(), 4U);
    EXPECT_EQ(row[2], "1");
    EXPECT_EQ(row[3], json["parameters"]["run"].get<std::string>());
    EXPECT_TRUE(arrived.emplace(row[0], std::stoll(row[1])).second);
  }
  EXPECT_EQ(arrived.size(), 310U);
  const auto start = json["start_ns"].get<std::int64_t>();
  const auto sent = rows_of(file("sent"));
  ASSERT_EQ(sent.size(), 300U);
  for (const auto& row : sent) {
    EXPECT_EQ(row[5], "") << "there is no response";
    EXPECT_EQ(row[6], "completed");
    ASSERT_TRUE(arrived.contains(row[1]));
    // Before it was due, nothing was sent.
    EXPECT_GT(arrived[row[1]], start + std::stoll(row[3]));
  }
  EXPECT_EQ(json["response_time_ms"]["max"], 0);
  const auto counts = nlohmann::json::parse(std::ifstream(file("counts")));
  EXPECT_EQ(counts["invites"], 310);
  EXPECT_EQ(counts["responses"], 0);
  EXPECT_EQ(counts["malformed_messages"], 0);
}

TEST_F(SipPrograms, TheLongestResponseIsUnderstood) {
  Program sip(server({"--transport", "udp,tcp", "--response-size", "8192"}));
  for (const std::string transport : {"udp", "tcp"}) {
    run(load(sip, transport, {"--count", "3", "--rate", "1000", "--t1", "20000"}), 0);
  }
}

TEST_F(SipPrograms, OptionsWithoutEffectAreSaid) {
  const std::string what = ": --streams has no effect: it is for --transport sctp or quic\n";
  Program sip(server({"--transport", "tcp", "--streams", "3"}));
  EXPECT_TRUE(sip.says("simco-sip" + what));
  EXPECT_EQ(run(load(sip, "tcp", {"--streams", "4", "--count", "3"}), 0).err,
            "simco-loadgen" + what);
}

TEST_F(SipPrograms, AServerThatIsNotThereIsSaidAtOnce) {
  const auto port = std::to_string(free_port());
  EXPECT_TRUE(run({"simco-loadgen", "--workload", "sip", "--transport", "udp", "--connect",
                   "127.0.0.1:" + port, "--count", "3"},
                  1)
                  .err.contains("connection lost: "));
}

TEST_F(SipPrograms, MistakesAreOneLineAndExit2) {
  const Words loadgen{"simco-loadgen", "--workload", "sip"};
  const Words sip{"simco-sip"};
  const Words cross{"simco-cross", "web", "--connect", "127.0.0.1"};
  const std::vector<std::tuple<Words, Words, std::string>> cases = {
      {loadgen, {"--transport", "udp", "--response", "none"}, "--response none requires"},
      {loadgen, {"--transport", "udp", "--tls-ca", "x"}, "require --transport tcp"},
      {loadgen, {"--invite-size", "100"}, "has at least"},
      {loadgen, {"--invite-size", "65537"}, "expected a whole number from 1 to 65536"},
      {loadgen, {"--invite-size", "1301", "--transport", "udp"}, "--large-over-udp"},
      {loadgen,
       {"--invite-size", "65508", "--transport", "udp", "--large-over-udp"},
       "at most 65507"},
      {loadgen, {"--large-every", "3"}, "--large-every and --large-size require each other"},
      {loadgen, {"--large-size", "100", "--large-every", "3"}, "--large-size: an INVITE over TCP"},
      {loadgen, {"--drain", "3"}, "--drain requires --response none"},
      {loadgen, {"--response", "200"}, "--response: expected 100, 180 or none"},
      {loadgen, {"--t1", "0"}, "expected a whole number from 1"},
      {loadgen, {"--rate", "nan", "--count", "3"}, "--rate: expected a number from"},
      {loadgen, {"--duration", "nan"}, "--duration: expected a number from"},
      {loadgen, {"--timeout", "nan"}, "--timeout: expected a number from"},
      {loadgen, {"--abort-lag", "inf"}, "--abort-lag: expected a number from"},
      {loadgen, {"--response", "none", "--drain", "nan"}, "--drain: expected a number from"},
      {cross, {"--sessions", "nan"}, "--sessions: expected a number from"},
      {sip, {"--response-size", "100"}, "has at least"},
      {sip, {"--response-size", "8193"}, "expected a whole number from 1 to 8192"},
      {sip, {"--transport", "udp", "--streams", "3"}, "requires --transport sctp or quic"},
      {sip, {"--transport", "dccp"}, "expected tcp, sctp, quic or udp"},
      {sip, {"--listen", "nowhere"}, "--listen: "},
  };
  for (const auto& [program, words, text] : cases) {
    const auto complaint = run(program + words, 2).err;
    EXPECT_TRUE(complaint.contains(text)) << complaint;
    EXPECT_EQ(count_of(complaint, "\n"), 1U) << complaint;
    EXPECT_TRUE(complaint.starts_with(program[0] + ": ")) << complaint;
  }
  EXPECT_TRUE(
      run({"simco-middlebox", "--transport", "udp"}, 2).err.contains("expected tcp, sctp or quic"));
}

}  // namespace
}  // namespace simco::test
