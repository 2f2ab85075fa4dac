// Messages after a wrong input: the mistake, in the user's words, and the remedy.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/integration/router/box.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/port.hpp"

namespace simco::test {
namespace {

/// The one line of complaint about words that end a program with status 2.
std::string complaint(const Words& words) {
  const auto text = run(words, 2).err;
  EXPECT_EQ(count_of(text, "\n"), 1U) << text;
  return text;
}

Words ctl(const std::string& line) {
  Words words{"simcoctl"};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(Messages, OfSimcoctlSayWhatToDo) {
  const std::string pair = "enable --internal 10.0.0.5:5004 --external 192.0.2.7:6000 --udp ";
  const std::map<std::string, std::string> cases = {
      {"enabel", "no command 'enabel'; did you mean enable?"},
      {"--prot 7626 list", "unknown option --prot"},
      {pair + "--lifetme 5", "unknown option --lifetme; did you mean --lifetime?"},
      {pair + "--lifetime 0", "--lifetime: expected a whole number from 1 to 4294967295, got '0'"},
      {pair + "--lifetime -1", "--lifetime: expected a whole number from 1 to"},
      {"status abc", "PID: expected a whole number from 1 to 4294967295, got 'abc'"},
      {"", "give a command: enable, reserve, disable, "},
      {"enable --internal 10.0.0.5:5004 --udp --direction both",
       "--direction both needs one address and, with --udp, --tcp or --sctp, ports on both sides"},
      {"enable --internal 10.0.0.5:5004/2 --external 192.0.2.7:6000/4 --udp",
       "--internal has 2 ports and --external 4: both need the same number"},
      {pair + "--direction sideways", "--direction: expected in, out or both, got 'sideways'"},
      {"enable --internal 10.0.0.5:5004-5005 --udp",
       "--internal: '5004-5005' is not a port: write consecutive ports as 5004/2"},
      {"--connect ::1:7702 list", "--connect: '::1:7702' is ambiguous: write [::1:7702] for the"},
      {"--name proxy --secret-file /nonexistent/x list",
       "--secret-file: cannot read secret file '/nonexistent/x': No such file or directory"},
      {"--transport udp list", "--transport: expected tcp, sctp or quic, got 'udp'"},
  };
  for (const auto& [line, message] : cases) {
    const auto text = complaint(ctl(line));
    EXPECT_TRUE(text.contains("simcoctl: " + message)) << line << "\n" << text;
  }
}

TEST(Messages, OfOtherProgramsSayWhatToDo) {
  const std::map<Words, std::string> cases = {
      {{"simco-middlebox", "--port", "99999"},
       "--port: expected a whole number from 0 to 65535, got '99999'"},
      {{"simco-middlebox", "--port", "abc"}, "--port: expected a whole number"},
      {{"simco-middlebox", "--prot", "7626"}, "unknown option --prot; did you mean --port?"},
      {{"simco-middlebox", "--listen", "::1:7702"},
       "--listen: '::1:7702' is ambiguous: write [::1:7702] for the address"},
      {{"simcoctl", "--port", "7626", "list"}, "unknown option --port; give --connect HOST:PORT"},
      {{"simco-loadgen", "--conect", "h"}, "unknown option --conect; did you mean --connect?"},
      {{"simco-loadgen", "--rate", "fast"}, "--rate: expected a number from 1e-06 to "},
      {{"simco-echo", "--port", "99999"},
       "--port: expected a whole number from 0 to 65535, got '99999'"},
      {{"simco-echo", "--listen", "phone"}, "--listen: expected an IP address, got 'phone'"},
      {{"simco-ng", "--listne", "127.0.0.1"}, "unknown option --listne; did you mean --listen?"},
      {{"simco-ng", "--lifetime", "1"}, "--lifetime: expected a whole number from 3 to 86400"},
      {{"simco-ng", "--internal", "10.0.0.0/8", "--upstream", "proxy"},
       "--upstream: expected ADDRESS:PORT, got 'proxy'"},
  };
  for (const auto& [words, message] : cases) {
    const auto text = complaint(words);
    EXPECT_TRUE(text.contains(message)) << text;
  }
}

TEST(Messages, OfFilesSayWhatIsWrongWithThem) {
  Folder folder("messages");
  const auto empty = folder.write("empty", "");
  const std::map<Words, std::string> cases = {
      {{"simcoctl", "--name", "proxy", "--secret-file", empty, "list"},
       "secret file '" + empty + "' is empty"},
      {{"simcoctl", "--name", "proxy", "--secret-file", folder.path, "list"},
       "cannot read secret file '" + folder.path + "': Is a directory"},
      {{"simco-middlebox", "--check", "--config", folder.path},
       "cannot read configuration file " + folder.path + ": Is a directory"},
  };
  for (const auto& [words, message] : cases) {
    const auto text = complaint(words);
    EXPECT_TRUE(text.contains(message)) << text;
  }
  run({"simco-middlebox", "--check", "--check-user", "root", "--config", empty}, 0);
}

TEST(Messages, HaveNoInternalsOfLibraries) {
  // Of the documentation (RFC 5737), so nowhere here.
  const std::string elsewhere = "192.0.2.99:2223";
  const Words ng{"simco-ng", "--internal", "10.0.0.0/8", "--allow-from", "10.0.0.0/8"};
  EXPECT_EQ(run(ng + Words{"--listen", elsewhere}, 1).err,
            "simco-ng: cannot listen on udp " + elsewhere + ": Cannot assign requested address\n");
  EXPECT_EQ(
      run(ng + Words{"--listen", "127.0.0.1:0", "--metrics", elsewhere}, 1).err,
      "simco-ng: cannot serve metrics at " + elsewhere + ": Cannot assign requested address\n");
}

TEST(Messages, OfAConnectionNameWhatIsMissing) {
  EXPECT_EQ(run({"simcoctl", "--connect", "127.0.0.1:1", "list"}, 1).err,
            "simcoctl: connect to 127.0.0.1:1: Connection refused: is simco-middlebox running "
            "there, with this transport? --connect HOST:PORT\n");
  const auto metrics = "127.0.0.1:" + std::to_string(free_port());
  EXPECT_EQ(run({"simcoctl", "top", "--metrics", metrics, "--count", "1"}, 1).err,
            "simcoctl: cannot read the metrics at http://" + metrics +
                "/metrics: Connection refused; is simco-middlebox running with "
                "--metrics " +
                metrics + "?\n");
  Box box("port = 0\n[[agent]]\nname = \"proxy\"\nsecret-file = \"proxy.secret\"\n");
  const auto anonymous = box.ask({"list"}, "");
  EXPECT_TRUE(anonymous.err.ends_with(
      "the middlebox requires authentication: give --name and --secret-file\n"))
      << anonymous.err;
  const auto wrong = box.ask({"list"}, "wrong.secret");
  EXPECT_TRUE(
      wrong.err.ends_with("authentication failed (0x0323): are --name and --secret-file "
                          "right? The middlebox's log says more\n"))
      << wrong.err;
}

TEST(Messages, NamesEachOptionInTheHelpAndEndsWithExamples) {
  for (const char* name :
       {"simco-middlebox", "simcoctl", "simco-ng", "simco-loadgen", "simco-echo", "simco-sip"}) {
    const auto text = run({name, "--help"}, 0).out;
    EXPECT_TRUE(text.contains("\nExamples:\n")) << text;
    for (const char* internals : {"UINT", "FLOAT", "REQUIRED", "[0-", " in {", "Subcommand"}) {
      EXPECT_FALSE(text.contains(internals)) << internals;
    }
    EXPECT_TRUE(text.contains("\nConnection:\n"));
    EXPECT_LE(count_of(text, "\n"), 100U) << text;  // two screens
    for (const char* tuning : {"--sctp-", "--quic-"}) EXPECT_FALSE(text.contains(tuning));
    EXPECT_FALSE(text.contains("\n\n\n")) << text;
    EXPECT_TRUE(text.contains(std::string("\nUsage: ") + name + " [OPTIONS]")) << text;
    for (const char* version : {"-V", "--version"}) {
      EXPECT_TRUE(
          run({name, version}, 0).out.starts_with(std::string(name) + " " SIMCO_VERSION "\n"));
    }
  }
  EXPECT_TRUE(run({"simcoctl", "enable", "--help"}, 0)
                  .out.contains("\nUsage: simcoctl enable [OPTIONS] [PROGRAM...]\n"));
  // Also where a command would need more.
  EXPECT_EQ(run({"simcoctl", "enable", "--version"}, 0).out, run({"simcoctl", "-V"}, 0).out);
}

TEST(Messages, TellsInHelpAllWhatTunesATransport) {
  for (const char* name : {"simco-middlebox", "simcoctl", "simco-loadgen", "simco-ng"}) {
    const auto text = run({name, "--help-all"}, 0).out;
    const auto sctp = text.find("\nSCTP:\n");
    const auto quic = text.find("\nQUIC:\n");
    EXPECT_LT(text.find("\n  --streams "), sctp) << text;
    EXPECT_LT(sctp, text.find("\n  --sctp-rto-min ")) << text;
    EXPECT_LT(text.rfind("\n  --sctp-"), quic) << text;
    EXPECT_LT(quic, text.find("\n  --quic-")) << text;
  }
}

}  // namespace
}  // namespace simco::test
