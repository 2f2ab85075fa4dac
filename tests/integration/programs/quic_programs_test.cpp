// The programs over QUIC as their users start them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/certificates.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

Words files_of(const net::TlsFiles& files) {
  return {"--tls-ca",        files.authority, "--tls-certificate",
          files.certificate, "--tls-key",     files.key};
}

class QuicPrograms : public testing::Test {
 protected:
  /// A server with these words.
  Words server(const Words& words) const { return words + Words{"--port", "0"} + files_of(box_); }
  /// A program that connects to it.
  Words to(Program& server, const Words& words) const {
    return words +
           Words{"--transport", "quic", "--connect",
                 "127.0.0.1:" + std::to_string(server.listening_port("quic"))} +
           files_of(proxy_);
  }

  const Authority authority_;
  const net::TlsFiles box_ = authority_.issue("box", "IP:127.0.0.1");
  const net::TlsFiles proxy_ = authority_.issue("proxy1");
  const Folder folder_{"quic-programs"};
};

TEST_F(QuicPrograms, AMiddleboxServesAllTransports) {
  Program middlebox(server({"simco-middlebox", "--transport", "tcp,quic", "--streams", "4"}));
  const auto tcp = "127.0.0.1:" + std::to_string(middlebox.listening_port());
  const auto load = run(to(middlebox, {"simco-loadgen", "--abort-lag", "600", "--timeout", "600",
                                       "--rate", "500", "--count", "300", "--json", "-"}),
                        0);
  const auto results = nlohmann::json::parse(load.out);
  EXPECT_EQ(results["parameters"]["transport"], "quic");
  EXPECT_EQ(results["parameters"]["tls"], true);
  EXPECT_EQ(results["parameters"]["streams"], 16);
  EXPECT_EQ(results["parameters"]["outbound_streams"], 4);
  EXPECT_EQ(results["transactions"]["completed"], 300);
  EXPECT_TRUE(results["transport_stats"].contains("sent_packets"));
  run(to(middlebox, {"simcoctl", "list"}), 0);
  run({"simcoctl", "--connect", tcp, "list"}, 0);
  middlebox.signal(SIGTERM);
  EXPECT_EQ(middlebox.wait(), 0);
}

// It fails at the start, not with the first packet.
TEST_F(QuicPrograms, ASystemWithoutTls13HasNoQuic) {
  const auto priorities = folder_.write("gnutls", "[overrides]\ndisabled-version = tls1.3\n");
  ::setenv("GNUTLS_SYSTEM_PRIORITY_FILE", priorities.c_str(), 1);
  const auto middlebox = run(server({"simco-middlebox", "--transport", "quic"}), 2);
  ::unsetenv("GNUTLS_SYSTEM_PRIORITY_FILE");
  EXPECT_TRUE(middlebox.err.contains("the GnuTLS configuration of this system refuses"))
      << middlebox.err;
}

TEST_F(QuicPrograms, TheCertificateIsTheAgent) {
  const auto file = folder_.write(
      "box.toml", "require = \"tls\"\n[[agent]]\nname = \"proxy1\"\ncertificate = true\n");
  Program middlebox(server({"simco-middlebox", "--config", file, "--transport", "quic"}));
  const auto rule = run(to(middlebox, {"simcoctl", "enable", "--udp", "--internal", "10.0.0.1:4000",
                                       "--external", "192.0.2.1:4000"}),
                        0);
  EXPECT_TRUE(rule.out.contains("enabled"));
  EXPECT_TRUE(middlebox.line_with("enable").contains("proxy1"));
  // One of another authority is none.
  const Authority other("other");
  const auto stranger = other.issue("proxy1");
  auto words = to(middlebox, {"simcoctl", "list"});
  *(std::ranges::find(words, "--tls-certificate") + 1) = stranger.certificate;
  *(std::ranges::find(words, "--tls-key") + 1) = stranger.key;
  EXPECT_TRUE(run(words, 1).err.contains("TLS"));
}

TEST_F(QuicPrograms, Echo) {
  Program echo(server({"simco-echo", "--transport", "tcp,quic"}));
  const auto load =
      run(to(echo, {"simco-loadgen", "--workload", "echo", "--rate", "2000", "--count", "1000",
                    "--connections", "3", "--abort-lag", "600", "--timeout", "600", "--json", "-"}),
          0);
  EXPECT_TRUE(load.out.contains("\"completed\": 1000")) << load.out;
}

TEST_F(QuicPrograms, WhatIsMissingIsOneLine) {
  const auto missing =
      ": transport quic: QUIC requires a certificate, its key and an authority "
      "(--tls-certificate, --tls-key and --tls-ca)";
  for (const auto* program : {"simco-middlebox", "simco-echo", "simco-loadgen"}) {
    const auto text = run({program, "--transport", "quic"}, 2).err;
    EXPECT_TRUE(text.contains(program + std::string(missing))) << text;
  }
  EXPECT_TRUE(
      run(server({"simco-middlebox", "--transport", "quic", "--quic-keep-alive", "30000"}), 2)
          .err.contains("--quic-keep-alive must be below --quic-idle-timeout"));
}

}  // namespace
}  // namespace simco::test
