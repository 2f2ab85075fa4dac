// The middlebox's log lines about refused agents.
#include <gtest/gtest.h>

#include <map>

#include "tests/integration/router/box.hpp"
#include "tests/support/patience.hpp"

namespace simco::test {
namespace {

const std::string kStrict = R"(port = 0
[[agent]]
name = "proxy"
secret-file = "proxy.secret"
internal = ["10.20.0.0/16"]
max-rules = 1
)";

Words enable(const std::string& internal) {
  return {"enable", "--internal", internal, "--external", "192.0.2.7:6000", "--udp"};
}

TEST(Refusals, HaveALineWithTheReasonAndThePeersPort) {
  Box box(kStrict);
  EXPECT_EQ(box.ask(enable("10.99.0.1:5004")).code, 1);
  const auto line = box.program().line_with(" info refused PER 0x0341 ");
  EXPECT_TRUE(line.starts_with(
      " info refused PER 0x0341 agent not authorized for this transaction (internal 10.99.0.1 is "
      "outside 'internal': "
      "10.20.0.0/16) protocol=udp internal=10.99.0.1:5004 external=192.0.2.7:6000 lifetime=120 "
      "by=proxy peer=127.0.0.1:"))
      << line;
  EXPECT_EQ(box.ask({"status", "7"}).code, 1);
  EXPECT_TRUE(
      box.says(" info refused PRS 0x0343 specified policy rule does not exist (there is no "
               "rule 7) pid=7 by=proxy peer=127.0.0.1:"));
  EXPECT_EQ(box.ask(enable("10.20.0.1:5004")).code, 0);
  EXPECT_EQ(box.ask(enable("10.20.0.1:5006")).code, 1);
  EXPECT_TRUE(box.says("('max-rules' of 'proxy' (1) is reached) protocol=udp "));
}

TEST(Refusals, OfAuthenticationNameWhoTried) {
  Box box(kStrict);
  EXPECT_EQ(box.ask({"list"}, "wrong.secret").code, 1);
  EXPECT_TRUE(box.says(
      "authentication failed for \"proxy\": its secret is not that of the configuration\n"));
  run(box.words({"--name", "proxi", "--secret-file", box.path("proxy.secret"), "list"}, ""), 1);
  EXPECT_TRUE(
      box.says("authentication failed for \"proxi\": no [[agent]] of this name has a secret\n"));
}

TEST(Refusals, OfASessionSayWhatIsRequired) {
  Box box("port = 0\nrequire = \"sa\"\n");
  EXPECT_EQ(box.ask({"list"}, "").code, 1);
  EXPECT_TRUE(
      box.says(" info refused session 0x0326 security of underlying protocol layers insufficient "
               "(authentication is required, and no [[agent]] has a secret) peer=127.0.0.1:"));
}

TEST(Refusals, OfASessionSayWhichRightIsMissing) {
  const std::string agent =
      "port = 0\n[[agent]]\nname = \"proxy\"\nsecret-file = \"proxy.secret\"\n";
  const std::map<std::string, std::string> reasons = {
      {agent + "sources = [\"192.0.2.0/24\"]\n",
       "('sources' of agent \"proxy\" do not include its address)"},
      {agent + "transactions = []\n", "('transactions' of agent \"proxy\" are empty)"},
      {"port = 0\n[[agent]]\nname = \"anonymous@192.0.2.1\"\n",
       "(no [[agent]] without a secret is for this address)"},
  };
  for (const auto& [configuration, reason] : reasons) {
    Box box(configuration);
    EXPECT_EQ(box.ask({"list"}, configuration.contains("proxy") ? "proxy.secret" : "").code, 1);
    EXPECT_TRUE(box.says(" info refused session 0x0324 ")) << reason;
    EXPECT_TRUE(box.says(reason + " ")) << reason;
  }
  Box box(agent + "max-sessions = 1\n");
  const Program watch(box.words({"watch"}));
  // Whichever of the two comes second is refused.
  EXPECT_TRUE(eventually([&] {
    box.ask({"list"});
    return box.program().err().contains("('max-sessions' of agent \"proxy\" (1) is reached) ");
  }));
}

}  // namespace
}  // namespace simco::test
