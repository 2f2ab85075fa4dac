// The programs over SCTP as their users start them, with the userland stack.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simco/net/sctp/kernel.hpp"
#include "tests/support/port.hpp"
#include "tests/support/program.hpp"

namespace simco {
namespace {

using test::Program;
using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// `--transport sctp` with the userland stack behind a UDP port of our own.
class SctpPrograms : public testing::Test {
 protected:
  const std::string udp_ = std::to_string(test::free_port());
  const Words agent_{"--transport", "sctp", "--sctp-stack", "userland", "--udp-encaps", udp_};
  const Words server_{"--sctp-stack", "userland", "--udp-encaps", udp_, "--port", "0"};

  Words connect(Program& server) const {
    return {"--connect", "127.0.0.1:" + std::to_string(server.listening_port("sctp"))};
  }
  /// The load generator, with these words. It may be late: that is no failure here.
  Words load(const Words& more) const {
    return Words{"simco-loadgen", "--abort-lag", "600", "--timeout", "600"} + more + agent_;
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
    return found;
  }
};

TEST_F(SctpPrograms, MiddleboxServesBothTransports) {
  Program middlebox(Words{"simco-middlebox", "--transport", "tcp,sctp", "--streams", "4"} +
                    server_);
  const auto tcp = "127.0.0.1:" + std::to_string(middlebox.listening_port());
  Program loadgen(load({"--rate", "500", "--count", "300", "--json", "-"}) + connect(middlebox));
  EXPECT_EQ(loadgen.wait(), 0) << loadgen.err();
  const auto results = nlohmann::json::parse(loadgen.out());
  EXPECT_EQ(results["parameters"]["transport"], "sctp");
  EXPECT_EQ(results["parameters"]["transport_stack"], "userland");
  EXPECT_EQ(results["parameters"]["streams"], 16);
  EXPECT_EQ(results["parameters"]["outbound_streams"], 4);
  EXPECT_EQ(results["parameters"]["inbound_streams"], 4);
  EXPECT_EQ(results["transactions"]["completed"], 300);
  EXPECT_TRUE(results["transport_stats"].contains("retransmitted_chunks"));
  EXPECT_NE(loadgen.err().find("per over sctp (userland, 4 streams)"), std::string::npos);

  Program over_sctp(Words{"simcoctl", "list"} + agent_ + connect(middlebox));
  EXPECT_EQ(over_sctp.wait(), 0) << over_sctp.err();
  const auto rule = over_sctp.out().substr(0, over_sctp.out().find('\n'));
  Program over_tcp({"simcoctl", "--connect", tcp, "status", rule});
  EXPECT_EQ(over_tcp.wait(), 0) << over_tcp.err();
  EXPECT_EQ(count(middlebox.err(), "using the userland stack over UDP port " + udp_), 1U);
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
}

TEST_F(SctpPrograms, EchoOrderedAndUnordered) {
  Program echo(Words{"simco-echo", "--transport", "sctp"} + server_);
  for (const Words& how : {Words{}, Words{"--unordered"}}) {
    Program loadgen(load({"--workload", "echo", "--rate", "2000", "--count", "1000",
                          "--connections", "3", "--json", "-"}) +
                    how + connect(echo));
    EXPECT_EQ(loadgen.wait(), 0) << loadgen.err();
    const auto results = nlohmann::json::parse(loadgen.out());
    EXPECT_EQ(results["parameters"]["unordered"], !how.empty());
    EXPECT_EQ(results["transactions"]["completed"], 1000);
  }
}

// Bound to any address, it answers from the one that was asked.
TEST_F(SctpPrograms, AnyAddress) {
  Program middlebox(Words{"simco-middlebox", "--transport", "sctp", "--listen",
                          "0.0.0.0,::", "--allow-anonymous"} +
                    server_);
  const auto port = ":" + std::to_string(middlebox.listening_port("sctp"));
  for (const std::string address : {"127.0.0.1", "127.0.0.5", "[::1]"}) {
    Program loadgen(load({"--rate", "500", "--count", "50", "--connect", address + port}));
    EXPECT_EQ(loadgen.wait(), 0) << address << loadgen.err();
  }
}

TEST_F(SctpPrograms, WhatIsMissingIsOneLine) {
  if (net::sctp::kernel_has_sctp())
    GTEST_SKIP() << "this machine: its kernel has SCTP, so nothing is missing";
  Program middlebox({"simco-middlebox", "--transport", "sctp", "--sctp-stack", "kernel", "--port",
                     "0", "--log-level", "error"});
  EXPECT_EQ(middlebox.wait(), 1);
  EXPECT_EQ(middlebox.err(),
            "simco-middlebox: cannot listen on sctp 127.0.0.1:0: this kernel has no SCTP support: "
            "load the module (modprobe sctp) or use the userland stack (--sctp-stack userland)\n");
  Program agent({"simcoctl", "--transport", "sctp", "--sctp-stack", "kernel", "list"});
  EXPECT_EQ(agent.wait(), 1);
  EXPECT_NE(agent.err().find("this kernel has no SCTP"), std::string::npos) << agent.err();
  EXPECT_EQ(count(agent.err(), "\n"), 1U);
}

TEST_F(SctpPrograms, TheUdpPortIsTaken) {
  Program first(Words{"simco-middlebox", "--transport", "sctp"} + server_);
  first.listening_port("sctp");
  Program second(Words{"simco-middlebox", "--transport", "sctp", "--log-level", "error"} + server_);
  EXPECT_EQ(second.wait(), 1);
  EXPECT_EQ(second.err(), "simco-middlebox: cannot listen on sctp 127.0.0.1:0 over UDP port " +
                              udp_ + ": Address already in use\n");
}

TEST_F(SctpPrograms, WrongUsage) {
  for (const Words& words :
       {Words{"simco-middlebox", "--transport", "udp"},
        {"simco-middlebox", "--streams", "0"},
        {"simco-middlebox", "--streams", "65536"},
        {"simco-middlebox", "--sctp-rto-min", "900", "--sctp-rto-initial", "500"},
        {"simco-middlebox", "--sctp-buffer", "1000"},
        {"simco-loadgen", "--bind", "here"},
        {"simco-loadgen", "--connect", "a:1,b:2"},
        {"simco-loadgen", "--unordered"},
        {"simco-loadgen", "--unordered", "--transport", "sctp"},
        {"simcoctl", "--transport", "tcp,sctp", "list"},
        {"simco-echo", "--sctp-scheduler", "fair"}}) {
    Program program(words);
    EXPECT_EQ(program.wait(), 2) << words[1];
    EXPECT_EQ(count(program.err(), "\n"), 1U) << program.err();
  }
}

}  // namespace
}  // namespace simco
