// simcoctl opens a guarded port of the middlebox's machine to its own, over TLS and QUIC.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/integration/router/router.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"

namespace simco::test {
namespace {

class ForMe : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto files = authority.issue("box", "IP:192.0.2.1");
    folder.write("box.toml",
                 "backend = \"nftables\"\nguard = [\"tcp:22\"]\nlisten = \"192.0.2.1\"\n"
                 "port = 0\ntransport = \"" +
                     std::string(GetParam()) + "\"\nrequire = \"tls\"\ntls-certificate = \"" +
                     files.certificate + "\"\ntls-key = \"" + files.key + "\"\ntls-ca = \"" +
                     files.authority +
                     "\"\n[[agent]]\nname = \"admin\"\ncertificate = true\n"
                     "internal = \"host\"\nprotocols = [\"tcp\"]\ninternal-ports = [22]\n"
                     "wildcards = [\"port\"]\nmax-lifetime = 60\n");
    box = start(net.router, {"simco-middlebox", "--config", folder.file("box.toml")});
    port = box->listening_port(GetParam());
  }
  /// simcoctl enable, as the administrator runs it on a machine outside.
  Words simcoctl(const Words& more) const {
    const auto files = authority.files("admin");
    return Words{"simcoctl",
                 "--transport",
                 GetParam(),
                 "--connect",
                 "192.0.2.1:" + std::to_string(port),
                 "--tls-ca",
                 files.authority,
                 "--tls-certificate",
                 files.certificate,
                 "--tls-key",
                 files.key,
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
  const net::TlsFiles admin = authority.issue("admin");
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

TEST_P(ForMe, SaysWhatDoesNotGoTogether) {
  EXPECT_TRUE(run({"--", "no-such-program"}, 127)
                  .err.contains("simcoctl: no-such-program: No such file or directory"));
  EXPECT_FALSE(reaches());
  EXPECT_TRUE(run({"--tcp"}, 2).err.contains("--for-me has the protocol already"));
  EXPECT_TRUE(run({"--internal", "192.0.2.1:22"}, 2).err.contains("--for-me has the port already"));
  EXPECT_TRUE(
      run({"--external", "2001:db8::1"}, 1).err.contains("both sides need the same IP version"));
  const auto here = net.router.run([&] { return test::run(simcoctl({}), 1); });
  EXPECT_TRUE(here.err.contains("the middlebox is on this machine"));
}

}  // namespace
}  // namespace simco::test
