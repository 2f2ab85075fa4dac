// The programs over TLS: files that are read again, demands of each listener, mistakes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/certificates.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

const std::string kNoRules = "simcoctl: there are no rules that this agent may see\n";

class TlsPrograms : public testing::Test {
 protected:
  const Authority authority;
  const net::TlsFiles box_files = authority.issue("box", "IP:127.0.0.1,DNS:box.example");
  std::string path = testing::TempDir() + "tls-" + std::to_string(::getpid()) + ".toml";
  ~TlsPrograms() override { std::filesystem::remove(path); }

  void configure(const net::TlsFiles& files, const std::string& rest = {}) const {
    std::ofstream(path) << "port = 0\ntls-certificate = \"" << files.certificate
                        << "\"\ntls-key = \"" << files.key << "\"\ntls-ca = \"" << files.authority
                        << "\"\n"
                        << rest << "[[agent]]\nname = \"proxy1\"\ncertificate = true\n";
  }
  static std::vector<std::string> words(const net::TlsFiles& files, std::uint16_t port) {
    return {"--connect",         "127.0.0.1:" + std::to_string(port),
            "--tls-ca",          files.authority,
            "--tls-certificate", files.certificate,
            "--tls-key",         files.key};
  }
  static std::string run(std::string program, std::vector<std::string> words,
                         const std::vector<std::string>& more, int code = 0) {
    words.insert(words.begin(), std::move(program));
    words.insert(words.end(), more.begin(), more.end());
    Program running(words);
    EXPECT_EQ(running.wait(), code) << running.err();
    return running.out() + running.err();
  }
};

TEST_F(TlsPrograms, CertificatesAreReloaded) {
  const auto proxy = authority.issue("proxy1");
  configure(box_files, "log-level = \"debug\"\n");
  Program box({"simco-middlebox", "--config", path});
  const auto port = box.listening_port();
  const std::vector<std::string> list = {"list"};
  EXPECT_EQ(run("simcoctl", words(proxy, port), list), kNoRules);
  auto watch_words = words(proxy, port);
  watch_words.insert(watch_words.begin(), "simcoctl");
  watch_words.insert(watch_words.end(), {"watch", "--count", "1"});
  const auto sessions = [&] {
    const auto log = box.err();
    int count = 0;
    for (auto at = log.find("session open"); at != log.npos;
         at = log.find("session open", at + 1)) {
      ++count;
    }
    return count;
  };
  const auto before = sessions();
  Program watching(watch_words);
  ASSERT_TRUE(eventually([&] { return sessions() > before; }));

  // A file that is not there changes nothing.
  configure(authority.files("nobody"));
  box.signal(SIGHUP);
  EXPECT_NE(box.line_with("configuration rejected").find("nobody.pem: No such file"),
            std::string::npos);
  EXPECT_EQ(run("simcoctl", words(proxy, port), list), kNoRules);

  const Authority other("other");
  configure(other.issue("box", "IP:127.0.0.1"));
  box.signal(SIGHUP);
  box.line_with("configuration reloaded");
  const auto renewed = other.issue("proxy1");
  run("simcoctl", words(renewed, port),
      {"enable", "--udp", "--internal", "10.0.0.1:4000", "--external", "192.0.2.1:4000"});
  run("simcoctl", words(proxy, port), list, 1);
  // A session of before the reload goes on: it hears of the rule.
  EXPECT_EQ(watching.wait(), 0) << watching.err();
}

TEST_F(TlsPrograms, EachListenerHasItsOwnDemands) {
  configure(box_files, "require = \"none\"\n[[listener]]\nport = 0\nrequire = \"tls\"\n");
  std::ofstream(path, std::ios::app) << "[[agent]]\nname = \"anonymous\"\n";
  Program box({"simco-middlebox", "--config", path});
  const auto open = box.listening_port();
  std::string all;
  ASSERT_TRUE(eventually([&] {
    all = box.err();
    return all.find("listening", all.find("listening") + 1) != all.npos && all.ends_with('\n');
  }));
  const auto guarded = static_cast<std::uint16_t>(std::stoi(all.substr(all.rfind(':') + 1)));
  ASSERT_NE(open, guarded);
  const auto plain = [](std::uint16_t port) {
    return std::vector<std::string>{"--connect", "127.0.0.1:" + std::to_string(port)};
  };
  EXPECT_EQ(run("simcoctl", plain(open), {"list"}), kNoRules);
  EXPECT_NE(run("simcoctl", plain(guarded), {"list"}, 1).find("0x0326"), std::string::npos);
  EXPECT_EQ(run("simcoctl", words(authority.issue("proxy1"), guarded), {"list"}), kNoRules);
  run("simco-loadgen", words(authority.files("proxy1"), guarded),
      {"--rate", "200", "--count", "200", "--abort-lag", "600"});
}

TEST_F(TlsPrograms, MistakesAreExplained) {
  const auto proxy = authority.issue("proxy1");
  const auto box = [&](const std::vector<std::string>& words) {
    return run("simco-middlebox", {"--port", "0"}, words, 2);
  };
  EXPECT_NE(box({"--require", "tls"}).find("requires --transport tcp or quic, --tls-certificate"),
            std::string::npos);
  EXPECT_NE(box({"--tls-ca", proxy.authority}).find("both a certificate and its key"),
            std::string::npos);
  EXPECT_NE(box({"--tls-ca", proxy.authority, "--tls-certificate", proxy.certificate, "--tls-key",
                 box_files.key})
                .find("key values mismatch"),
            std::string::npos);
  EXPECT_NE(box({"--tls-certificate", proxy.certificate, "--tls-key", proxy.key})
                .find("needs an authority (CA) file"),
            std::string::npos);
  EXPECT_NE(run("simcoctl", {"--tls-name", "box"}, {"list"}, 2).find("requires --tls-ca"),
            std::string::npos);
  EXPECT_NE(run("simcoctl", {"--transport", "sctp", "--tls-ca", proxy.authority}, {"list"}, 2)
                .find("require --transport tcp"),
            std::string::npos);
}

TEST_F(TlsPrograms, AMissingPartIsNamed) {
  configure(box_files, "require = \"tls\"\n");
  Program guarded({"simco-middlebox", "--config", path});
  Program plain({"simco-middlebox", "--port", "0"});
  const auto list = [](std::uint16_t port, std::vector<std::string> more) {
    more.insert(more.end(), {"--connect", "127.0.0.1:" + std::to_string(port)});
    return run("simcoctl", std::move(more), {"list"}, 1);
  };
  const auto& authority_file = box_files.authority;
  // Whichever of its own limits ends it.
  const auto unheard = list(plain.listening_port(), {"--tls-ca", authority_file, "--timeout", "1"});
  EXPECT_TRUE(unheard.ends_with(
      "it answers no TLS handshake; does the middlebox have --tls-certificate?\n"))
      << unheard;
  const auto without_tls = list(guarded.listening_port(), {});
  EXPECT_TRUE(
      without_tls.ends_with("(0x0326): give --tls-ca, --tls-certificate and --tls-key, or "
                            "--name and --secret-file\n"))
      << without_tls;
  const auto without_certificate = list(guarded.listening_port(), {"--tls-ca", authority_file});
  EXPECT_TRUE(without_certificate.ends_with(
      "the middlebox wants a certificate: give --tls-certificate and --tls-key\n"))
      << without_certificate;
}

}  // namespace
}  // namespace simco::test
