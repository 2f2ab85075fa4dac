// doc/ssh.md: simcoctl opens a guarded port of the middlebox's machine to its own, over QUIC and
// TLS.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <string>

#include "tests/integration/router/router.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"

namespace simco::test {
namespace {

class ForMe : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    authority.issue("box", "IP:192.0.2.1");
    authority.issue("alice");
    folder.write("box.toml", page_block("[[agent]]"));
    box = start(net.router, {"simco-middlebox", "--config", folder.file("box.toml")});
    port = box->listening_port(GetParam());
    folder.write("user.toml", page_block("connect ="));
  }
  /// The block of doc/ssh.md that has `part`, with the addresses, files and transport of the test.
  std::string page_block(const std::string& part) const {
    std::ifstream file(SIMCO_SOURCE_DIR "/doc/ssh.md");
    const std::string page(std::istreambuf_iterator<char>(file), {});
    const std::regex block("```toml\n([^`]*)```");
    const auto begin = std::sregex_iterator(page.begin(), page.end(), block);
    const auto found =
        std::find_if(begin, {}, [&](const auto& match) { return match[1].str().contains(part); });
    auto text = (*found)[1].str();
    const auto certificates = authority.files("x").certificate;
    const auto place = certificates.substr(0, certificates.rfind('/') + 1);
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"203.0.113.5", "192.0.2.1"},
                                   {"/(etc/simco|home/alice|var/lib/simco)/", place},
                                   {"\"quic\"", "\"" + std::string(GetParam()) + "\""}}) {
      text = std::regex_replace(text, std::regex(from), to);
    }
    // A key at the top stands before the tables.
    return part == "[[agent]]" ? "port = 0\n" + text : text;
  }
  /// simcoctl enable, as Alice runs it.
  Words simcoctl(const Words& more) const {
    return Words{"simcoctl",
                 "--config",
                 folder.file("user.toml"),
                 "--connect",
                 "192.0.2.1:" + std::to_string(port),
                 "enable",
                 "--for-me",
                 "tcp:22"} +
           more;
  }
  Outcome run(const Words& more, int code) const {
    return net.outside.run([&] { return test::run(simcoctl(more), code); });
  }
  bool reaches(const std::string& from = "192.0.2.2",
               std::chrono::milliseconds limit = kStaysAway) const {
    return Tcp(net.outside, {from, 0}).connect({"192.0.2.1", 22}, limit);
  }

  const Network net;
  const Authority authority;
  const Folder folder{"for-me"};
  const TcpListener ssh{net.router, {"192.0.2.1", 22}};
  std::unique_ptr<Program> box;
  std::uint16_t port = 0;
};
INSTANTIATE_TEST_SUITE_P(Over, ForMe, testing::Values("tcp", "quic"),
                         [](const auto& transport) { return std::string(transport.param); });

TEST_P(ForMe, OpensThePortToTheCallersAddressAlone) {
  EXPECT_FALSE(reaches());
  EXPECT_TRUE(run({"--lifetime", "30"}, 0).out.contains("enabled for 30 s"));
  EXPECT_TRUE(reaches("192.0.2.2", kPatience));
  EXPECT_FALSE(reaches("192.0.2.3"));
}

TEST_P(ForMe, OpensItToTheAddressThatTheSessionIsBoundTo) {
  EXPECT_TRUE(run({"--bind", "192.0.2.3", "--lifetime", "30"}, 0).out.contains("enabled for 30 s"));
  EXPECT_TRUE(reaches("192.0.2.3", kPatience));
  EXPECT_FALSE(reaches("192.0.2.2"));
}

TEST_P(ForMe, ATerminalThatIsClosedEndsTheRule) {
  const auto held = start(net.outside, simcoctl({"--lifetime", "600", "--", "sleep", "1000"}));
  ASSERT_TRUE(box->says("event=enable "));
  held->signal(SIGHUP);
  EXPECT_TRUE(box->says("event=delete "));
  EXPECT_FALSE(reaches());
}

TEST_P(ForMe, KeepsTheRuleWhileAProgramRuns) {
  const auto file = folder.file("stop");
  const auto held = start(
      net.outside, simcoctl({"--lifetime", "2", "--", "sh", "-c",
                             "until [ -e " + file + " ]; do sleep 0.1; done; echo done; exit 7"}));
  ASSERT_TRUE(box->says("event=enable "));
  const Tcp client(net.outside, {"192.0.2.2", 0});
  ASSERT_TRUE(client.connect({"192.0.2.1", 22}));
  const auto server = ssh.accept();
  ASSERT_TRUE(server);
  // Renewed twice: its first lifetime is over.
  EXPECT_TRUE(eventually([&] { return count_of(box->err(), "event=lifetime ") >= 2; }));
  EXPECT_TRUE(passes(client, server->first));
  EXPECT_TRUE(passes(server->first, client));
  folder.write("stop", "");
  EXPECT_EQ(held->wait(), 7);
  EXPECT_EQ(held->out(), "done\n");
  EXPECT_FALSE(passes(client, server->first, kStaysAway));
  EXPECT_FALSE(reaches());
}

TEST_P(ForMe, ThePortIsOfTheProgramAndTheSessionIsNot) {
  const auto descriptors = run({"--", "ls", "-l", "/proc/self/fd"}, 0).out;
  EXPECT_TRUE(descriptors.contains("/proc/")) << descriptors;
  EXPECT_FALSE(descriptors.contains("socket:")) << descriptors;
}

TEST_P(ForMe, SaysWhatDoesNotGoTogether) {
  EXPECT_TRUE(run({"--", "no-such-program"}, 127)
                  .err.contains("simcoctl: no-such-program: No such file or directory"));
  EXPECT_FALSE(reaches());
  EXPECT_TRUE(run({"--tcp"}, 2).err.contains("--for-me has the protocol already"));
  EXPECT_TRUE(run({"--internal", "192.0.2.1:22"}, 2).err.contains("--for-me has the port already"));
  EXPECT_TRUE(
      run({"--external", "2001:db8::1"}, 1).err.contains("both sides need the same IP version"));
  EXPECT_TRUE(run({"--same-parity"}, 2).err.contains("no effect with --for-me"));
  EXPECT_TRUE(run({"--external", "192.0.2.2:5000/2"}, 1)
                  .err.contains("--for-me has 1 ports and --external 2"));
  const auto here = net.router.run([&] { return test::run(simcoctl({}), 1); });
  EXPECT_TRUE(here.err.contains("the middlebox is on this machine"));
}

}  // namespace
}  // namespace simco::test
