// The programs over SCTP as their users start them, with the userland stack.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "simco/net/sctp/kernel.hpp"
#include "tests/support/port.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

/// `--transport sctp` with the userland stack behind a UDP port of our own.
class SctpPrograms : public testing::Test {
 protected:
  const std::string udp_ = std::to_string(free_port());
  const Words agent_{"--transport", "sctp", "--sctp-stack", "userland", "--udp-encaps", udp_};
  const Words server_{"--sctp-stack", "userland", "--udp-encaps", udp_, "--port", "0"};

  Words connect(Program& server) const {
    return {"--connect", "127.0.0.1:" + std::to_string(server.listening_port("sctp"))};
  }
  /// The load generator, with these words. It may be late: that is no failure here.
  Words load(const Words& more) const {
    return Words{"simco-loadgen", "--abort-lag", "600", "--timeout", "600"} + more + agent_;
  }
};

TEST_F(SctpPrograms, MiddleboxServesBothTransports) {
  Program middlebox(Words{"simco-middlebox", "--transport", "tcp,sctp", "--streams", "4"} +
                    server_);
  const auto tcp = "127.0.0.1:" + std::to_string(middlebox.listening_port());
  const auto loadgen =
      run(load({"--rate", "500", "--count", "300", "--json", "-"}) + connect(middlebox), 0);
  const auto results = nlohmann::json::parse(loadgen.out);
  EXPECT_EQ(results["parameters"]["transport"], "sctp");
  EXPECT_EQ(results["parameters"]["transport_stack"], "userland");
  EXPECT_EQ(results["parameters"]["streams"], 16);
  EXPECT_EQ(results["parameters"]["outbound_streams"], 4);
  EXPECT_EQ(results["parameters"]["inbound_streams"], 4);
  EXPECT_EQ(results["transactions"]["completed"], 300);
  EXPECT_TRUE(results["transport_stats"].contains("retransmitted_chunks"));
  EXPECT_TRUE(loadgen.err.contains("per over sctp (userland, 4 streams)"));

  const auto rules = run(Words{"simcoctl", "list", "--pids"} + agent_ + connect(middlebox), 0).out;
  run({"simcoctl", "--connect", tcp, "status", rules.substr(0, rules.find('\n'))}, 0);
  EXPECT_EQ(count_of(middlebox.err(), "using the userland stack over UDP port " + udp_), 1U);
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
}

TEST_F(SctpPrograms, EchoOrderedAndUnordered) {
  Program echo(Words{"simco-echo", "--transport", "sctp"} + server_);
  for (const Words& how : {Words{}, Words{"--unordered"}}) {
    const auto loadgen = run(load({"--workload", "echo", "--rate", "2000", "--count", "1000",
                                   "--connections", "3", "--json", "-"}) +
                                 how + connect(echo),
                             0);
    const auto results = nlohmann::json::parse(loadgen.out);
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
    run(load({"--rate", "500", "--count", "50", "--connect", address + port}), 0);
  }
}

TEST_F(SctpPrograms, WhatIsMissingIsOneLine) {
  if (net::sctp::kernel_has_sctp())
    GTEST_SKIP() << "this machine: its kernel has SCTP, so nothing is missing";
  const Words kernel{"--transport", "sctp", "--sctp-stack", "kernel"};
  EXPECT_EQ(run(Words{"simco-middlebox", "--port", "0", "--log-level", "error"} + kernel, 1).err,
            "simco-middlebox: cannot listen on sctp 127.0.0.1:0: this kernel has no SCTP support: "
            "load the module (modprobe sctp) or use the userland stack (--sctp-stack userland)\n");
  const auto agent = run(Words{"simcoctl", "list"} + kernel, 1).err;
  EXPECT_TRUE(agent.contains("this kernel has no SCTP")) << agent;
  EXPECT_EQ(count_of(agent, "\n"), 1U);
}

TEST_F(SctpPrograms, TheUdpPortIsTaken) {
  Program first(Words{"simco-middlebox", "--transport", "sctp"} + server_);
  first.listening_port("sctp");
  EXPECT_EQ(
      run(Words{"simco-middlebox", "--transport", "sctp", "--log-level", "error"} + server_, 1).err,
      "simco-middlebox: cannot listen on sctp 127.0.0.1:0 over UDP port " + udp_ +
          ": Address already in use\n");
}

TEST_F(SctpPrograms, WrongUsage) {
  for (const Words& words :
       {Words{"simco-middlebox", "--streams", "0"},
        {"simco-middlebox", "--streams", "65536"},
        {"simco-middlebox", "--sctp-rto-min", "900", "--sctp-rto-initial", "500"},
        {"simco-middlebox", "--sctp-buffer", "1000"},
        {"simco-loadgen", "--bind", "here"},
        {"simco-loadgen", "--connect", "a:1,b:2"},
        {"simcoctl", "--transport", "tcp,sctp", "list"},
        {"simco-echo", "--sctp-scheduler", "fair"}}) {
    const auto text = run(words, 2).err;
    EXPECT_EQ(count_of(text, "\n"), 1U) << text;
  }
}

}  // namespace
}  // namespace simco::test
