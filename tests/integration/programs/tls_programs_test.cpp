// The programs over TLS: files that are read again, demands of each listener, mistakes.
#include <gtest/gtest.h>

#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

const std::string kNoRules = "simcoctl: there are no rules that this agent may see\n";

class TlsPrograms : public testing::Test {
 protected:
  const Authority authority;
  const net::TlsFiles box_files = authority.issue("box", "IP:127.0.0.1,DNS:box.example");
  const Folder folder{"tls-programs"};
  const std::string path = folder.file("box.toml");

  void configure(const net::TlsFiles& files, const std::string& rest = {},
                 const std::string& agents = {}) const {
    folder.write("box.toml", "port = 0\ntls-certificate = \"" + files.certificate +
                                 "\"\ntls-key = \"" + files.key + "\"\ntls-ca = \"" +
                                 files.authority + "\"\n" + rest +
                                 "[[agent]]\nname = \"proxy1\"\ncertificate = true\n" + agents);
  }
  static Words to(std::uint16_t port) { return {"--connect", "127.0.0.1:" + std::to_string(port)}; }
  static Words to(std::uint16_t port, const net::TlsFiles& files) {
    return to(port) + Words{"--tls-ca",        files.authority, "--tls-certificate",
                            files.certificate, "--tls-key",     files.key};
  }
  const Words list{"simcoctl", "list"};
};

TEST_F(TlsPrograms, CertificatesAreReloaded) {
  const auto proxy = authority.issue("proxy1");
  configure(box_files, "log-level = \"debug\"\n");
  Program box({"simco-middlebox", "--config", path});
  const auto port = box.listening_port();
  EXPECT_EQ(run(list + to(port, proxy), 0).err, kNoRules);
  const auto sessions = [&] { return count_of(box.err(), "session open"); };
  ASSERT_TRUE(eventually([&] { return sessions() == 1; }));
  Program watching(Words{"simcoctl", "watch", "--count", "1"} + to(port, proxy));
  ASSERT_TRUE(eventually([&] { return sessions() == 2; }));

  // A file that is not there changes nothing.
  configure(authority.files("nobody"));
  box.signal(SIGHUP);
  EXPECT_TRUE(box.line_with("configuration rejected").contains("nobody.pem: No such file"));
  EXPECT_EQ(run(list + to(port, proxy), 0).err, kNoRules);

  const Authority other("other");
  configure(other.issue("box", "IP:127.0.0.1"));
  box.signal(SIGHUP);
  box.line_with("configuration reloaded");
  const auto renewed = other.issue("proxy1");
  run(Words{"simcoctl", "enable", "--udp", "--internal", "10.0.0.1:4000", "--external",
            "192.0.2.1:4000"} +
          to(port, renewed),
      0);
  run(list + to(port, proxy), 1);
  // A session of before the reload goes on: it hears of the rule.
  EXPECT_EQ(watching.wait(), 0) << watching.err();
}

TEST_F(TlsPrograms, EachListenerHasItsOwnDemands) {
  configure(box_files, "require = \"none\"\n[[listener]]\nport = 0\nrequire = \"tls\"\n",
            "[[agent]]\nname = \"anonymous\"\n");
  Program box({"simco-middlebox", "--config", path});
  const auto open = box.listening_port();
  std::string all;
  ASSERT_TRUE(eventually([&] {
    all = box.err();
    return count_of(all, "listening") == 2 && all.ends_with('\n');
  }));
  const auto guarded = static_cast<std::uint16_t>(std::stoi(all.substr(all.rfind(':') + 1)));
  ASSERT_NE(open, guarded);
  EXPECT_EQ(run(list + to(open), 0).err, kNoRules);
  EXPECT_TRUE(run(list + to(guarded), 1).err.contains("0x0326"));
  EXPECT_EQ(run(list + to(guarded, authority.issue("proxy1")), 0).err, kNoRules);
  run(Words{"simco-loadgen", "--rate", "200", "--count", "200", "--abort-lag", "600"} +
          to(guarded, authority.files("proxy1")),
      0);
}

TEST_F(TlsPrograms, MistakesAreExplained) {
  const auto proxy = authority.issue("proxy1");
  const auto& [certificate, key, ca] = proxy;
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"simco-middlebox", "--require", "tls"},
       "requires --transport tcp or quic, --tls-certificate"},
      {{"simco-middlebox", "--tls-ca", ca}, "both a certificate and its key"},
      {{"simco-middlebox", "--tls-ca", ca, "--tls-certificate", certificate, "--tls-key",
        box_files.key},
       "key values mismatch"},
      {{"simco-middlebox", "--tls-certificate", certificate, "--tls-key", key},
       "needs an authority (CA) file"},
      {{"simcoctl", "--tls-name", "box", "list"}, "requires --tls-ca"},
      {{"simcoctl", "--transport", "sctp", "--tls-ca", ca, "list"}, "require --transport tcp"},
  };
  for (const auto& [words, text] : cases) EXPECT_TRUE(run(words, 2).err.contains(text)) << text;
}

TEST_F(TlsPrograms, AMissingPartIsNamed) {
  configure(box_files, "require = \"tls\"\n");
  Program guarded({"simco-middlebox", "--config", path});
  Program plain({"simco-middlebox", "--port", "0"});
  const Words ca{"--tls-ca", box_files.authority};
  // Whichever of its own limits ends it.
  const auto unheard = run(list + to(plain.listening_port()) + ca + Words{"--timeout", "1"}, 1).err;
  EXPECT_TRUE(unheard.ends_with(
      "it answers no TLS handshake; does the middlebox have --tls-certificate?\n"))
      << unheard;
  const auto without_tls = run(list + to(guarded.listening_port()), 1).err;
  EXPECT_TRUE(
      without_tls.ends_with("(0x0326): give --tls-ca, --tls-certificate and --tls-key, or "
                            "--name and --secret-file\n"))
      << without_tls;
  const auto without_certificate = run(list + to(guarded.listening_port()) + ca, 1).err;
  EXPECT_TRUE(without_certificate.ends_with(
      "the middlebox wants a certificate: give --tls-certificate and --tls-key\n"))
      << without_certificate;
}

}  // namespace
}  // namespace simco::test
