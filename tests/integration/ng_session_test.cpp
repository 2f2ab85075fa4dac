// simco-ng and its session with a middlebox, without packets.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

// A session without the list of rules is of no use; once the agent may list them, one is opened.
TEST(NgSession, IsOpenedAgainUntilTheRulesCanBeListed) {
  const Folder folder{"ng-session"};
  const auto path = folder.path + "/box.toml";
  const auto configure = [&](const std::string& transactions) {
    std::ofstream(path) << "[[agent]]\nname = \"anonymous\"\ntransactions = [" << transactions
                        << "]\n";
  };
  configure(R"("PER", "PLC")");
  Program box({"simco-middlebox", "--port", "0", "--config", path});
  const auto middlebox = "127.0.0.1:" + std::to_string(box.listening_port());
  Program ng({"simco-ng", "--listen", "127.0.0.1:0", "--middlebox", middlebox, "--internal",
              "10.0.0.0/8"});
  EXPECT_TRUE(ng.says("no session with the middlebox at " + middlebox));
  configure(R"("PER", "PLC", "PRS", "PRL")");
  box.signal(SIGHUP);
  EXPECT_TRUE(ng.says("session with the middlebox at " + middlebox + ": firewall"));
  ng.signal(SIGTERM);
  EXPECT_EQ(ng.wait(), 0);
}

}  // namespace
}  // namespace simco::test
