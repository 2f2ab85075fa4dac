// SCTP directly over IP, in a network of its own.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "simco/net/sctp/kernel.hpp"
#include "tests/support/network.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

TEST(SctpOverIp, UserlandOnBothSides) {
  // A kernel with SCTP answers packets that it takes for its own.
  const bool own = net::sctp::kernel_has_sctp();
  if (own)
    GTEST_SKIP()
        << "this machine: its kernel has SCTP, which aborts the userland stack's associations";
  const NetworkNamespace network;
  network.run([] {
    for (const std::string address : {"127.0.0.1", "::1"}) {
      Program middlebox({"simco-middlebox", "--transport", "sctp", "--udp-encaps", "0", "--port",
                         "0", "--listen", address});
      const auto port = std::to_string(middlebox.listening_port("sctp"));
      EXPECT_TRUE(middlebox.err().contains("directly over IP"));
      const std::string target = (address == "::1" ? "[::1]:" : address + ":") + port;
      // Two agents at once: each hears the other's packets and lets them be.
      Words words = {"simco-loadgen", "--transport", "sctp",   "--udp-encaps", "0",
                     "--connect",     target,        "--rate", "500",          "--count",
                     "500",           "--abort-lag", "600",    "--timeout",    "600"};
      Program one(words);
      words.insert(words.end(), {"--connections", "2"});
      Program two(words);
      EXPECT_EQ(one.wait(), 0) << one.err();
      EXPECT_EQ(two.wait(), 0) << two.err();
      Program nobody({"simcoctl", "--transport", "sctp", "--udp-encaps", "0", "--connect",
                      (address == "::1" ? "[::1]:9" : address + ":9"), "--timeout", "1", "list"});
      EXPECT_EQ(nobody.wait(), 1);
      middlebox.signal(SIGTERM);
      EXPECT_EQ(middlebox.wait(), 0);
    }
  });
}

// usrsctp has a thread of its own: it may do no more than the others.
TEST(SctpOverIp, NoThreadKeepsAnyRights) {
  const NetworkNamespace network;
  network.run([] {
    Program middlebox({"simco-middlebox", "--transport", "sctp", "--sctp-stack", "userland",
                       "--udp-encaps", "9899", "--port", "0"});
    middlebox.listening_port("sctp");
    std::size_t threads = 0;
    const auto tasks = "/proc/" + std::to_string(middlebox.pid()) + "/task";
    const auto without = [&] {
      threads = 0;
      bool all = true;
      for (const auto& task : std::filesystem::directory_iterator(tasks)) {
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
          if (line.starts_with("CapEff:") || line.starts_with("CapPrm:")) {
            all = all && std::stoull(line.substr(7), nullptr, 16) == 0;
          }
          if (line.starts_with("NoNewPrivs:")) all = all && line.ends_with("1");
        }
        ++threads;
      }
      return all;
    };
    EXPECT_TRUE(eventually(without));  // it has just begun to listen
    EXPECT_EQ(threads, 3U);            // the loop, the log's, usrsctp's
  });
}

}  // namespace
}  // namespace simco::test
