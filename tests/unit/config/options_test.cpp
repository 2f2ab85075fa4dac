#include "middlebox/config/options.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "middlebox/backend/fastpath/fast_path.hpp"
#include "middlebox/config/backends/nftables_type.hpp"
#include "middlebox/config/backends/table.hpp"
#include "tests/support/folder.hpp"

namespace simco::middlebox {
namespace {

std::expected<Settings, cli::UsageExit> parse(std::vector<const char*> words) {
  words.insert(words.begin(), "simco-middlebox");
  return parse_settings(static_cast<int>(words.size()), words.data(), backend_table());
}

/// A configuration file that goes away with the test.
class File {
 public:
  explicit File(const std::string& text)
      : path_(testing::TempDir() + "simco-options-" + std::to_string(::getpid()) + ".toml") {
    std::ofstream(path_) << text;
  }
  ~File() { ::unlink(path_.c_str()); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

/// The complaint about a command line; empty if there is none.
std::string fault(std::vector<const char*> words) {
  const auto settings = parse(std::move(words));
  return settings ? std::string() : settings.error().text;
}

TEST(Options, HandshakesOfAllAddressesHaveAQuarterOfTheDescriptors) {
  const File file(
      "listen = [\"127.0.0.1\", \"127.0.0.2\"]\n"
      "[[listener]]\nlisten = [\"127.0.0.3\", \"127.0.0.4\", \"127.0.0.5\"]\n"
      "[[listener]]\nlisten = \"127.0.0.6\"\ntransport = \"sctp\"\n");
  auto settings = parse({"--config", file.path()});
  ASSERT_TRUE(settings) << settings.error().text;
  auto& server = settings->server;
  share_descriptors(server, 1'000'000);
  EXPECT_EQ(server.listen.handshakes_max, net::kHandshakesMax);
  EXPECT_EQ(server.guests_max, kGuestsMax);
  share_descriptors(server, 4000);
  EXPECT_EQ(server.guests_max, 1000U);
  EXPECT_EQ(server.listen.handshakes_max, 200U);
  EXPECT_EQ(server.further_listeners.at(0).listen.handshakes_max, 200U);
}

/// The error for a configuration file, without its path.
std::string file_error(const std::string& text) {
  const File file(text);
  const auto settings = parse({"--config", file.path()});
  if (settings) return "taken";
  EXPECT_EQ(settings.error().code, 2);
  EXPECT_FALSE(settings.error().text.contains('\n'));
  const auto at = settings.error().text.find(file.path());
  EXPECT_NE(at, std::string::npos) << settings.error().text;
  return settings.error().text.substr(at + std::string(file.path()).size());
}

TEST(Options, Defaults) {
  const auto settings = parse({});
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->server.listen.addresses, std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(settings->server.listen.port, 7626);
  EXPECT_EQ(settings->server.lifetime_max_s, 3600U);
  EXPECT_EQ(settings->server.message_timeout, std::chrono::seconds(60));
  EXPECT_TRUE(settings->capabilities.empty()) << "it enforces nothing";
  EXPECT_EQ(settings->log_level, "info");
}

TEST(Options, CommandLine) {
  const auto settings = parse({"--listen", "127.0.0.1,::1", "--port", "0", "--max-lifetime=7",
                               "--message-timeout", "0.5", "--max-rules", "9", "--max-elements",
                               "90", "--max-sessions", "8", "--log-level", "debug"});
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->server.listen.addresses, (std::vector<std::string>{"127.0.0.1", "::1"}));
  EXPECT_EQ(settings->server.listen.port, 0);
  EXPECT_EQ(settings->server.lifetime_max_s, 7U);
  EXPECT_EQ(settings->server.rules_max, 9U);
  EXPECT_EQ(settings->server.elements_max, 90U);
  EXPECT_EQ(settings->server.sessions_max, 8U);
  EXPECT_EQ(settings->server.message_timeout, std::chrono::milliseconds(500));
}

TEST(Options, WrongOnesAreOneLineAndExit2) {
  for (const auto& words :
       std::vector<std::vector<const char*>>{{"--nonsense"},
                                             {"--port", "70000"},
                                             {"--port", "abc"},
                                             {"--transport", "udp"},
                                             {"--backend", "iptables"},
                                             {"--listen", "localhost"},
                                             {"--max-lifetime", "0"},
                                             {"--message-timeout", "-1"},
                                             {"--log-level", "loud"},
                                             {"--config", "/nonexistent/simco.toml"},
                                             {"stray"}}) {
    const auto settings = parse(words);
    ASSERT_FALSE(settings) << words[0];
    EXPECT_EQ(settings.error().code, 2);
    EXPECT_FALSE(settings.error().text.contains('\n')) << settings.error().text;
    EXPECT_TRUE(settings.error().text.starts_with("simco-middlebox: ")) << settings.error().text;
  }
}

TEST(Options, BeyondLoopbackOnlyWhenToldTo) {
  const auto refused = parse({"--listen", "0.0.0.0"});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().text.contains("--allow-anonymous"));
  EXPECT_TRUE(parse({"--listen", "0.0.0.0", "--allow-anonymous"}));
  EXPECT_TRUE(parse({"--listen", "127.5.0.1,::1"}));
}

TEST(Options, HelpAndVersion) {
  const auto help = parse({"--help"});
  ASSERT_FALSE(help);
  EXPECT_EQ(help.error().code, 0);
  EXPECT_TRUE(help.error().text.contains("--max-lifetime"));
  const auto version = parse({"--version"});
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().code, 0);
}

TEST(Options, FileAndCommandLineTogether) {
  const File file(
      "listen = [\"127.0.0.1\", \"127.0.0.2\"]\nport = 1234\nmax-lifetime = 10\n"
      "message-timeout = 2.5\n");
  const auto settings = parse({"--config", file.path(), "--port", "99"});
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->server.listen.port, 99);  // the command line wins
  EXPECT_EQ(settings->server.listen.addresses.size(), 2U);
  EXPECT_EQ(settings->server.lifetime_max_s, 10U);
  EXPECT_EQ(settings->server.message_timeout, std::chrono::milliseconds(2500));
}

TEST(Options, MistakesInTheFileNameFileAndLine) {
  EXPECT_TRUE(file_error("port = 1\n\nprot = 2\n").starts_with(":3: unknown option 'prot'"));
  EXPECT_TRUE(file_error("port = \"high\"\n").starts_with(":1: "));
  EXPECT_TRUE(file_error("# fine\nport = \n").starts_with(":2: "));
  EXPECT_TRUE(file_error("\nmax-lifetime = 0\n").starts_with(":2: "));
  EXPECT_TRUE(file_error("[listen]\na = 1\n").starts_with(":1: "));
  EXPECT_TRUE(file_error("port = [1, 2]\n").starts_with(":1: --port: expected a whole number"));
  EXPECT_TRUE(file_error("outside = []\n").starts_with(":1: --outside: the value is missing"));
  EXPECT_TRUE(file_error("tls-ca = \"\"\n").starts_with(":1: --tls-ca: the value is missing"));
  EXPECT_TRUE(file_error("metrics = \"box\"\n").starts_with(":1: --metrics: expected"));
  EXPECT_TRUE(file_error("config = \"other.toml\"\n").starts_with(":1: unknown option"));
}

/// The first example of doc/configuration.md.
std::string documented_example() {
  std::ifstream file(SIMCO_SOURCE_DIR "/doc/configuration.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const std::string begin = "```toml\n";
  const auto from = all.find(begin) + begin.size();
  return all.substr(from, all.find("```", from) - from);
}

TEST(Options, TheDocumentedExampleIsTaken) {
  const test::Folder folder("example");
  for (const char* name : {"middlebox", "proxy1", "guard"}) {
    std::ofstream(folder.path + "/" + name + ".secret") << "secret of " << name << "\n";
  }
  const auto path = folder.path + "/middlebox.toml";
  std::ofstream(path) << documented_example();
  const auto settings = parse({"--config", path.c_str()});
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->server.listen.addresses, std::vector<std::string>{"192.0.2.1"});
}

TEST(Options, CountersAndWhereTheyAreTold) {
  EXPECT_TRUE(fault({"--counters"}).contains("--counters requires --backend nftables"));
  for (const char* endpoint : {"9466", "127.0.0.1", "box:9466", "127.0.0.1:0"}) {
    EXPECT_TRUE(fault({"--inspect", endpoint}).contains("--inspect")) << endpoint;
  }
  const auto settings = parse({"--inspect", "[::1]:9466", "--backend", "nftables", "--internal-if",
                               "a", "--external-if", "b", "--counters"});
  ASSERT_TRUE(settings) << settings.error().text;
  EXPECT_EQ(settings->inspect, "[::1]:9466");
  const auto* type = dynamic_cast<const NftablesType*>(settings->backend.get());
  ASSERT_NE(type, nullptr);
  EXPECT_TRUE(type->options().counters);
}

TEST(Options, GuardsAndWhatTheyGoWith) {
  const auto guard = [](const char* ports, std::vector<const char*> words = {}) {
    for (const char* word : {"--backend", "nftables", "--guard", ports}) words.push_back(word);
    return fault(std::move(words));
  };
  EXPECT_EQ(guard("udp:30000-40000,tcp:5061"), "");
  EXPECT_EQ(guard("sctp:2905", {"--internal-if", "a", "--external-if", "b"}), "");
  for (const char* ports : {"30000", "udp", "udp:", "icmp:1", "udp:0", "udp:2-1", "tcp:22,x"}) {
    EXPECT_TRUE(guard(ports).contains("expected PROTOCOL:PORT or PROTOCOL:LOW-HIGH")) << ports;
  }
  EXPECT_TRUE(guard("tcp:1,tcp:2,tcp:3,tcp:4,tcp:5,tcp:6,tcp:7,tcp:8,tcp:9,tcp:10,tcp:11,tcp:12,"
                    "tcp:13")
                  .contains("expected at most 12 ranges of ports, got 13"));
  EXPECT_TRUE(fault({"--guard", "udp:1"}).contains("--guard requires --backend nftables"));
  const std::string needs = " requires --internal-if NAME and --external-if NAME";
  EXPECT_TRUE(guard("udp:1", {"--mode", "nat", "--outside", "198.51.100.1"}).contains(needs));
  EXPECT_TRUE(guard("udp:1", {"--allow-outbound"}).contains("--allow-outbound" + needs));
  EXPECT_TRUE(guard("udp:1", {"--fast-path", "xdp"}).contains("--fast-path xdp" + needs));
}

TEST(Options, RulesStayInTheKernelUnlessToldOtherwise) {
  const auto kept = [](std::vector<const char*> words) {
    for (const char* word : {"--backend", "nftables", "--internal-if", "a", "--external-if", "b"}) {
      words.push_back(word);
    }
    const auto settings = parse(std::move(words));
    EXPECT_TRUE(settings);
    const auto* type =
        settings ? dynamic_cast<const NftablesType*>(settings->backend.get()) : nullptr;
    return type != nullptr && type->options().keep_on_stop;
  };
  EXPECT_TRUE(kept({}));
  EXPECT_TRUE(kept({"--keep-rules"}));
  EXPECT_FALSE(kept({"--keep-rules=false"}));
  const File file("keep-rules = false\n");
  EXPECT_FALSE(kept({"--config", file.path()}));
}

/// The complaint about the options, of a router with nftables.
std::string router_fault(std::vector<const char*> words) {
  for (const char* word : {"--backend", "nftables", "--internal-if", "a", "--external-if", "b"})
    words.push_back(word);
  const auto settings = parse(std::move(words));
  return settings ? std::string() : settings.error().text;
}

TEST(Options, FastPathThatDoesNotGoWithTheRest) {
  const auto null = parse({"--fast-path", "xdp"});
  ASSERT_FALSE(null);
  EXPECT_TRUE(null.error().text.contains("--fast-path xdp requires --backend nftables"));
  EXPECT_EQ(router_fault({"--fast-path", "none", "--table-mode", "shared"}), "");
  EXPECT_NE(router_fault({"--fast-path", "ebpf"}), "");
  EXPECT_NE(router_fault({"--fast-path", "xdp", "--fast-path-entries", "0"}), "");
  if (!backend::fastpath::is_built_in()) {
    EXPECT_TRUE(router_fault({"--fast-path", "xdp"}).contains("this build has none"));
    return;
  }
  EXPECT_EQ(router_fault({"--fast-path", "xdp"}), "");
  EXPECT_TRUE(router_fault({"--fast-path", "xdp", "--table-mode", "shared"})
                  .contains("--fast-path xdp requires --table-mode own"));
  EXPECT_EQ(router_fault({"--fast-path", "xdp", "--counters"}), "");
}

TEST(Options, TrackingThatDoesNotGoWithTheRest) {
  const auto& fault = router_fault;
  EXPECT_EQ(fault({"--tracking", "notrack"}), "");
  EXPECT_EQ(fault({"--tracking", "needed", "--table-mode", "shared"}), "");
  EXPECT_EQ(fault({"--tracking", "all", "--allow-outbound"}), "");
  EXPECT_EQ(fault({"--allow-outbound"}), "");
  EXPECT_TRUE(fault({"--tracking", "none"}).contains("--tracking"));
  const auto says = [&](std::vector<const char*> words, const char* sentence) {
    const auto text = fault(std::move(words));
    EXPECT_TRUE(text.contains(sentence)) << text;
  };
  says({"--tracking", "notrack", "--table-mode", "shared"},
       "--tracking notrack requires --table-mode own: what is tracked is the site's to say");
  says({"--tracking", "needed", "--allow-outbound"},
       "--tracking needed: --allow-outbound needs connection tracking for all packets");
  says({"--tracking", "needed", "--mode", "nat", "--outside", "198.51.100.1"},
       "--tracking needed: a NAT needs connection tracking for all packets");
}

}  // namespace
}  // namespace simco::middlebox
