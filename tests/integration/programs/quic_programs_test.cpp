// The programs over QUIC as their users start them.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/certificates.hpp"
#include "tests/support/program.hpp"

namespace simco {
namespace {

using test::Program;
using Lines = std::vector<std::string>;

Lines join(Lines first, const Lines& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}
Lines files_of(const net::TlsFiles& files) {
  return {"--tls-ca",        files.authority, "--tls-certificate",
          files.certificate, "--tls-key",     files.key};
}

class QuicPrograms : public testing::Test {
 protected:
  ~QuicPrograms() override { std::filesystem::remove(path_); }

  Lines server(const Lines& more) const {
    return join(join({"--port", "0"}, files_of(box_)), more);
  }
  Lines to(Program& server) const {
    return join({"--transport", "quic", "--connect",
                 "127.0.0.1:" + std::to_string(server.listening_port("quic"))},
                files_of(proxy_));
  }
  static std::string run(const Lines& words, int code = 0) {
    Program program(words);
    EXPECT_EQ(program.wait(), code) << program.err();
    return program.out() + program.err();
  }

  const test::Authority authority_;
  const net::TlsFiles box_ = authority_.issue("box", "IP:127.0.0.1");
  const net::TlsFiles proxy_ = authority_.issue("proxy1");
  const std::string path_ = testing::TempDir() + "quic-" + std::to_string(::getpid()) + ".toml";
};

TEST_F(QuicPrograms, AMiddleboxServesAllTransports) {
  Program middlebox(
      join({"simco-middlebox", "--transport", "tcp,quic", "--streams", "4"}, server({})));
  const auto tcp = "127.0.0.1:" + std::to_string(middlebox.listening_port());
  const auto out = run(join({"simco-loadgen", "--abort-lag", "600", "--timeout", "600", "--rate",
                             "500", "--count", "300", "--json", "-"},
                            to(middlebox)));
  const auto results = nlohmann::json::parse(out.substr(out.find('{'), out.rfind('}') + 1));
  EXPECT_EQ(results["parameters"]["transport"], "quic");
  EXPECT_EQ(results["parameters"]["tls"], true);
  EXPECT_EQ(results["parameters"]["streams"], 16);
  EXPECT_EQ(results["parameters"]["outbound_streams"], 4);
  EXPECT_EQ(results["transactions"]["completed"], 300);
  EXPECT_TRUE(results["transport_stats"].contains("sent_packets"));
  run(join({"simcoctl", "list"}, to(middlebox)));
  run({"simcoctl", "--connect", tcp, "list"});
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
}

// It fails at the start, not with the first packet.
TEST_F(QuicPrograms, ASystemWithoutTls13HasNoQuic) {
  std::ofstream(path_) << "[overrides]\ndisabled-version = tls1.3\n";
  ::setenv("GNUTLS_SYSTEM_PRIORITY_FILE", path_.c_str(), 1);
  Program middlebox(join({"simco-middlebox", "--transport", "quic"}, server({})));
  ::unsetenv("GNUTLS_SYSTEM_PRIORITY_FILE");
  EXPECT_EQ(middlebox.wait(), 2);
  EXPECT_NE(middlebox.err().find("the GnuTLS configuration of this system refuses"),
            std::string::npos)
      << middlebox.err();
}

TEST_F(QuicPrograms, TheCertificateIsTheAgent) {
  std::ofstream(path_) << "require = \"tls\"\n[[agent]]\nname = \"proxy1\"\ncertificate = true\n";
  Program middlebox(
      join({"simco-middlebox", "--config", path_, "--transport", "quic"}, server({})));
  const auto rule = run(join({"simcoctl", "enable", "--udp", "--internal", "10.0.0.1:4000",
                              "--external", "192.0.2.1:4000"},
                             to(middlebox)));
  EXPECT_NE(rule.find("enabled"), std::string::npos);
  EXPECT_NE(middlebox.line_with("enable").find("proxy1"), std::string::npos);
  // One of another authority is none.
  const test::Authority other("other");
  const auto stranger = other.issue("proxy1");
  auto words = to(middlebox);
  *(std::ranges::find(words, "--tls-certificate") + 1) = stranger.certificate;
  *(std::ranges::find(words, "--tls-key") + 1) = stranger.key;
  EXPECT_NE(run(join({"simcoctl", "list"}, words), 1).find("TLS"), std::string::npos);
}

TEST_F(QuicPrograms, Echo) {
  Program echo(join({"simco-echo", "--transport", "tcp,quic"}, server({})));
  const auto out =
      run(join({"simco-loadgen", "--workload", "echo", "--rate", "2000", "--count", "1000",
                "--connections", "3", "--abort-lag", "600", "--timeout", "600", "--json", "-"},
               to(echo)));
  EXPECT_NE(out.find("\"completed\": 1000"), std::string::npos) << out;
}

TEST_F(QuicPrograms, WhatIsMissingIsOneLine) {
  const auto missing =
      ": transport quic: QUIC requires a certificate, its key and an authority "
      "(--tls-certificate, --tls-key and --tls-ca)";
  for (const auto* program : {"simco-middlebox", "simco-echo", "simco-loadgen"}) {
    const auto out = run({program, "--transport", "quic"}, 2);
    EXPECT_NE(out.find(program + std::string(missing)), std::string::npos) << out;
  }
  EXPECT_NE(run(join({"simco-middlebox", "--transport", "quic", "--quic-keep-alive", "30000"},
                     server({})),
                2)
                .find("--quic-keep-alive must be below --quic-idle-timeout"),
            std::string::npos);
}

}  // namespace
}  // namespace simco
