// The dissector for Wireshark, run by tshark: requests and replies that belong together, and what
// our own programs send over each transport. Messages one by one: vectors/test_dissector.py.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/certificates.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/network.hpp"
#include "tests/support/patience.hpp"
#include "tests/support/program.hpp"

namespace simco::test {
namespace {

class Wireshark : public testing::Test {
 protected:
  /// A line for each packet of `capture` that `filter` lets through: the fields of its messages,
  /// those of one name separated by commas, the others by tabs.
  Words dissect(const std::string& capture, const std::string& filter, const Words& fields,
                const Words& more = {}) const {
    // As root, Wireshark 4.4 takes no such script; in there it does not know that it is.
    Words words = {"/usr/bin/unshare",
                   "--user",
                   "/usr/bin/tshark",
                   "-r",
                   capture,
                   "-X",
                   "lua_script:" SIMCO_SOURCE_DIR "/scripts/wireshark/simco.lua",
                   "-Y",
                   filter,
                   "-T",
                   "fields"};
    for (const auto& field : fields) words.insert(words.end(), {"-e", field});
    const auto tshark = run(words + more, 0);
    EXPECT_FALSE(tshark.err.contains("Lua")) << tshark.err;
    Words lines;
    std::istringstream text(tshark.out);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  /// A capture of one TCP segment to the middlebox for each of `packets`.
  std::string capture(const std::vector<Octets>& packets) const {
    const auto dump = folder + "/packets.txt";
    std::ofstream out(dump);
    for (const auto& packet : packets) {
      out << "000000";
      for (const auto octet : packet) {
        char text[4];
        std::snprintf(text, sizeof text, " %02x", std::to_integer<unsigned>(octet));
        out << text;
      }
      out << "\n\n";
    }
    out.close();
    run({"/usr/bin/text2pcap", "-q", "-T", "40000,7626", dump, folder + "/packets.pcap"}, 0);
    return folder + "/packets.pcap";
  }

  const Folder folder_{"wireshark"};
  const std::string& folder = folder_.path;
};

TEST_F(Wireshark, PutsMessagesTogetherAndTakesThemApart) {
  const auto one = encoded({TransactionId{1}, pinhole()});
  auto both = one;
  const auto two = encoded({TransactionId{2}, PrlRequest{}});
  both.insert(both.end(), two.begin(), two.end());
  const Octets head(one.begin(), one.begin() + 13);
  const Octets tail(one.begin() + 13, one.end());
  const auto lines = dissect(capture({both, head, tail}), "simco", {"frame.number", "simco.tid"});
  EXPECT_EQ(lines, (Words{"1\t1,2", "3\t1"}));
}

// Whoever sends it again: the agent on another stream, or QUIC. A new session begins with the same
// TIDs, and may have the same ports.
TEST_F(Wireshark, ARequestThatIsSentAgainIsTheSameUntilItIsAnswered) {
  const auto request = encoded({TransactionId{1}, pinhole()});
  const auto reply =
      encoded({TransactionId{1}, NegativeReply{NegativeReplyCode::kLackOfPorts, {}}});
  const auto lines = dissect(capture({request, request, reply, reply, request, reply}), "simco",
                             {"frame.number", "simco.reply_in", "simco.request_in"}, {"-2"});
  EXPECT_EQ(lines, (Words{"1\t3\t", "2\t3\t", "3\t\t1", "4\t\t1", "5\t6\t", "6\t\t5"}));
}

/// What simcoctl says to a middlebox with these options, captured on the way.
class Traffic : public Wireshark {
 protected:
  static constexpr std::uint16_t kDiscardPort = 9;

  /// `agent`: what simcoctl is started by.
  std::string capture_traffic(const Words& transport, const Words& agent = {"simcoctl"}) {
    const auto file = folder + "/traffic.pcap";
    return network.run([&] {
      Program dump({"/usr/bin/tshark", "-q", "-i", "lo", "-w", file});
      wait_for_mark(file, "the capture has begun");
      Program box(Words{"simco-middlebox"} + transport);
      EXPECT_NE(box.line_with("listening on"), "");
      const auto ask = agent + Words{"--timeout", "120"} + transport;
      run(ask + Words{"enable", "--udp", "--internal", "10.0.0.1:4000", "--external",
                      "192.0.2.1:6000"},
          0);
      run(ask + Words{"delete", "99"}, 1);
      wait_for_mark(file, "all has been said");  // what went before is there, too
      dump.signal(SIGINT);
      EXPECT_EQ(dump.wait(), 0);
      return file;
    });
  }
  /// Sends packets with `mark` in them until the capture has one.
  static void wait_for_mark(const std::string& file, const std::string& mark) {
    boost::asio::io_context io;
    using boost::asio::ip::udp;
    udp::socket socket(io, udp::v4());
    EXPECT_TRUE(eventually([&] {
      boost::system::error_code ignored;  // nobody listens there
      socket.send_to(boost::asio::buffer(mark),
                     {boost::asio::ip::address_v4::loopback(), kDiscardPort}, 0, ignored);
      return contents_of(file).contains(mark);
    }));
  }
  /// `more`: options of tshark's.
  void check(const std::string& file, const std::string& filter, const Words& more = {}) {
    Words expected = {"SE request\t",  "SE positive reply\tyes",
                      "PER request\t", "PER positive reply\tyes",
                      "ST request\t",  "ST positive reply\tyes",
                      "SE request\t",  "SE positive reply\tyes",
                      "PLC request\t", "refused: 0x0343 specified policy rule does not exist\tyes",
                      "ST request\t",  "ST positive reply\tyes"};
    Words lines;
    std::set<std::string> seen;
    for (const auto& line :
         dissect(file, filter, {"simco.message", "simco.time", "quic.connection.number"}, more)) {
      std::istringstream text(line);
      std::string message, time, connection;
      std::getline(std::getline(std::getline(text, message, '\t'), time, '\t'), connection, ',');
      // tshark shows again what QUIC sends again, as it does after a few milliseconds without an
      // acknowledgement. Each message is said once in a session.
      if (!connection.empty() && !seen.insert(message + connection).second) continue;
      if (!time.empty()) {
        EXPECT_GT(std::stod(time), 0);
      }
      lines.push_back(message + (time.empty() ? "\t" : "\tyes"));
    }
    EXPECT_EQ(lines, expected);
  }
  const NetworkNamespace network;
};

TEST_F(Traffic, OverTcp) { check(capture_traffic({"--transport", "tcp"}), "simco && tcp"); }

TEST_F(Traffic, OverSctpInUdp) {
  const auto file = capture_traffic({"--transport", "sctp", "--sctp-stack", "userland"});
  check(file, "simco && sctp && udp.port == 9899");
}

TEST_F(Traffic, OverSctp) {
  const auto file =
      capture_traffic({"--transport", "sctp", "--sctp-stack", "userland", "--udp-encaps", "0"});
  check(file, "simco && sctp && !udp");
}

/// The same with encryption, and what shows what it hides.
class SecretTraffic : public Traffic {
 protected:
  void capture_and_check(const std::string& transport, const std::string& filter) {
    const auto capture =
        capture_traffic({"--transport", transport, "--tls-certificate", files.certificate,
                         "--tls-key", files.key, "--tls-ca", files.authority},
                        {"/usr/bin/env", "LD_PRELOAD=" SIMCO_KEY_LOG, "SSLKEYLOGFILE=" + secrets,
                         SIMCO_BIN_DIR "/simcoctl"});
    EXPECT_TRUE(dissect(capture, "simco", {"simco.tid"}).empty()) << "without the secrets";
    check(capture, "simco && " + filter, {"-o", "tls.keylog_file:" + secrets});
  }
  const Authority authority;
  const net::TlsFiles files = authority.issue("both", "IP:127.0.0.1");
  const std::string secrets = folder + "/secrets";
};

TEST_F(SecretTraffic, OverTls) { capture_and_check("tcp", "tls && tcp.port == 7626"); }

#ifdef SIMCO_QUIC
TEST_F(SecretTraffic, OverQuic) { capture_and_check("quic", "quic && udp.port == 7626"); }
#endif

}  // namespace
}  // namespace simco::test
