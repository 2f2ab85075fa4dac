// The promises of design and style, checked by reading the source tree: allowed includes between
// folders, lengths of lines and functions.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/tree.hpp"

namespace simco::test {
namespace {

namespace fs = std::filesystem;

using Arrows = std::map<std::string, std::set<std::string>>;

/// The cells of a row of a Markdown table, without spaces around them.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '|');) {
    const auto first = cell.find_first_not_of(' ');
    const auto last = cell.find_last_not_of(' ');
    result.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return result;
}

/// Reads which folders each folder may include, by the last part of their names, from the table of
/// folders: `folder/`, whether it is pure, the folders that it sees beside wire.
Arrows read_arrows(std::istream& document) {
  std::map<std::string, std::string> by_name;
  std::map<std::string, std::string> sees;
  bool in_table = false;
  for (std::string line; std::getline(document, line);) {
    const auto cells = cells_of(line);
    if (cells.size() < 4) {
      in_table = false;
    } else if (cells[1] == "folder") {
      in_table = true;
    } else if (in_table && cells[1].starts_with("`")) {
      const auto folder = cells[1].substr(1, cells[1].size() - 3);  // without quotes and slash
      by_name[fs::path(folder).filename()] = folder;
      sees[folder] = cells[3];
    }
  }
  static const std::regex kName(R"(\w+(?= \(|,|$))");
  Arrows result;
  for (const auto& [folder, names] : sees) {
    auto& targets = result[folder];
    if (by_name["wire"] != folder) targets.insert(by_name["wire"]);
    for (std::sregex_iterator at(names.begin(), names.end(), kName), end; at != end; ++at) {
      const auto found = by_name.find(at->str());
      EXPECT_NE(found, by_name.end()) << folder << " sees an unknown folder: " << at->str();
      if (found != by_name.end()) targets.insert(found->second);
    }
  }
  return result;
}

const Arrows& arrows() {
  static const Arrows result = [] {
    std::ifstream stream(kRoot / "doc/architecture.md");
    return read_arrows(stream);
  }();
  return result;
}

/// The longest folder of the table that `path` is in, or "tests".
std::string folder_of(const std::string& path) {
  if (path.starts_with("tests/")) return "tests";
  std::string result;
  for (const auto& [folder, targets] : arrows()) {
    if (path.starts_with(folder + "/") && folder.size() > result.size()) result = folder;
  }
  return result;
}

/// The file that a line includes, or nothing.
std::string target_of(const std::string& line) {
  return line.starts_with("#include \"") ? line.substr(10, line.size() - 11) : "";
}

/// Returns the includes of `tree` that the table does not have.
Findings forbidden_includes(const std::vector<Source>& tree) {
  const std::set<std::string> for_all_rooms = {"middlebox/clock.hpp", "middlebox/limits.hpp"};
  return lines_that(tree, [&](const std::string& path, const std::string& line) {
    const auto target = target_of(line);
    const auto from = folder_of(path);
    if (target.empty() || from == "tests" || for_all_rooms.contains(target)) return false;
    const auto to = folder_of(target);
    return from.empty() || to.empty() || (to != from && !arrows().at(from).contains(to));
  });
}

/// Returns the lines of the files that `concerns` chooses that have one of the `banned` words.
template <class Concerns>
Findings lines_with(const std::vector<Source>& tree, const std::vector<std::string>& banned,
                    Concerns concerns) {
  return lines_that(tree, [&](const std::string& path, const std::string& line) {
    const auto has = [&](const std::string& word) { return line.contains(word); };
    return concerns(path) && std::ranges::any_of(banned, has);
  });
}

TEST(Tree, ArrowsPointDown) {
  std::istringstream table(
      "| folder | contents | sees |\n|---|---|---|\n| `a/wire/` | octets | |\n"
      "| `a/net/` | channels | |\n| `b/` | all | net (values only) |\n");
  const auto read = read_arrows(table);
  EXPECT_EQ(read, (Arrows{{"a/wire", {}}, {"a/net", {"a/wire"}}, {"b", {"a/wire", "a/net"}}}));

  const Source bad{"simco/wire/codec.cpp", {"#include \"simco/net/error.hpp\""}};
  const Source elsewhere{"simco/wire/codec.cpp", {"#include \"codec.hpp\""}};
  const Source good{"middlebox/core/core.cpp",
                    {"#include \"middlebox/clock.hpp\"", "#include \"simco/net/crowd.hpp\""}};
  EXPECT_EQ(forbidden_includes({bad, elsewhere, good}).size(), 2U);

  EXPECT_GT(arrows().size(), 15U);
  for (const auto& source : sources()) EXPECT_FALSE(folder_of(source.path).empty()) << source.path;
  EXPECT_EQ(forbidden_includes(sources()), Findings());
}

/// Returns the includes of simco/net that are more than values.
Findings messages_in_net(const std::vector<Source>& tree) {
  const std::set<std::string> values = {"simco/wire/assert.hpp", "simco/wire/ids.hpp",
                                        "simco/wire/ip.hpp",     "simco/wire/limits.hpp",
                                        "simco/wire/number.hpp", "simco/wire/table.hpp"};
  return lines_that(tree, [&](const std::string& path, const std::string& line) {
    const auto target = target_of(line);
    return folder_of(path) == "simco/net" && target.starts_with("simco/wire/") &&
           !values.contains(target);
  });
}

// The ends of messages and their streams are known above.
TEST(Tree, ChannelsCarryOctets) {
  const std::vector<std::string> includes = {"#include \"simco/wire/ids.hpp\"",
                                             "#include \"simco/wire/messages.hpp\""};
  EXPECT_EQ(messages_in_net({{"simco/net/crowd.hpp", includes}}).size(), 1U);
  EXPECT_EQ(messages_in_net({{"simco/session/backoff.hpp", includes}}).size(), 0U);
  EXPECT_EQ(messages_in_net(sources()), Findings());
}

/// Returns the lines outside simco/net that name a transport, or know its settings.
Findings transports_named_above_net(const std::vector<Source>& tree) {
  static const std::regex kNamed(
      R"re(Transport::k|"sctp"|"tcp"|"quic"|--transport (tcp|sctp|quic)|"--(sctp|quic)-|)re"
      R"re(simco/net/(sctp/|quic/|tcp_)|(Sctp|Quic)Options|QuicCongestion|)re"
      R"re(SctpStack|SctpScheduler|settings\.(sctp|quic)|kernel's SCTP.*")re");
  // IP protocols, as rules name them.
  static const std::regex kProtocol(R"(\{"\w+", \d+\}|set_protocol)");
  return lines_that(tree, [](const std::string& path, const std::string& line) {
    const auto folder = folder_of(path);
    if (folder == "simco/net" || folder == "simco/wire" || folder == "tests") return false;
    if (line.starts_with("//") || line.contains("///")) return false;
    return std::regex_search(line, kNamed) && !std::regex_search(line, kProtocol);
  });
}

/// Returns the lines of simco/net outside sctp/ and its tables that include something of it.
Findings includes_of_sctp(const std::vector<Source>& tree) {
  const std::set<std::string> tables = {"simco/net/transport.hpp", "simco/net/transport_type.cpp",
                                        "simco/net/bare_socket.cpp"};
  return lines_with(tree, {"#include \"simco/net/sctp/"}, [&](const std::string& path) {
    return folder_of(path) == "simco/net" && !path.contains("/sctp/") && !tables.contains(path);
  });
}

// A transport is a folder, a row in the table of transport_type.cpp, and its settings a member of
// TransportSettings.
TEST(Tree, OnlyNetNamesATransport) {
  const std::vector<std::string> words = {"#include \"simco/net/sctp/options.hpp\"",
                                          "  net::SctpOptions options;",
                                          "  if (name == \"tcp\") {",
                                          "  options.settings.sctp.streams = 3;",
                                          "  return \"requires --transport tcp\";",
                                          "  app.add_option(\"--sctp-rto-min\", rto_min);",
                                          "  app.add_flag(\"--streams\", streams);",
                                          "// The kernel's SCTP"};
  EXPECT_EQ(transports_named_above_net({{"loadgen/main.cpp", words}}).size(), 6U);
  EXPECT_EQ(transports_named_above_net({{"simco/net/a.cpp", words}}).size(), 0U);
  EXPECT_EQ(includes_of_sctp({{"simco/net/listener.hpp", words}}).size(), 1U);
  EXPECT_EQ(includes_of_sctp({{"simco/net/sctp/channel.cpp", words}}).size(), 0U);

  EXPECT_EQ(transports_named_above_net(sources()), Findings());
  EXPECT_EQ(includes_of_sctp(sources()), Findings());
}

/// Workloads, and their messages in a replay.
const std::set<std::string> kWorkloadTables = {"loadgen/workload_type.cpp",
                                               "loadgen/replay/replay_main.cpp"};

/// Returns the lines that name one of the workloads `names`, outside its folder and the tables.
Findings workloads_named_elsewhere(const std::vector<Source>& tree,
                                   const std::set<std::string>& names) {
  return lines_that(tree, [&](const std::string& path, const std::string& line) {
    const auto folder = folder_of(path);
    if (folder == "tests" || kWorkloadTables.contains(path)) return false;
    return std::ranges::any_of(names, [&](const std::string& name) {
      const auto own = "loadgen/" + name + "/";
      const bool spelt = folder == "loadgen" && line.contains("\"" + name + "\"");
      return !path.starts_with(own) &&
             (spelt || line.contains(own) || line.contains("simco-" + name));
    });
  });
}

// A workload is a folder of the load generator and a row in the table of workload_type.cpp, and of
// replay_main.cpp.
TEST(Tree, OnlyTheTableNamesAWorkload) {
  const std::vector<std::string> words = {"#include \"loadgen/echo/echo_workload.hpp\"",
                                          "if (workload == \"echo\")", "// simco-echo", "echoes"};
  EXPECT_EQ(workloads_named_elsewhere({{"loadgen/main.cpp", words}}, {"echo"}).size(), 3U);
  EXPECT_EQ(workloads_named_elsewhere({{"loadgen/echo/a.cpp", words}}, {"echo"}).size(), 0U);

  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(kRoot / "loadgen")) {
    if (entry.is_directory()) folders.insert(entry.path().filename());
  }
  folders.erase("replay");  // the medium of some
  EXPECT_GE(folders.size(), 2U);
  EXPECT_EQ(workloads_named_elsewhere(sources(), folders), Findings());
}

/// Returns the lines of loadgen/ itself, without the workloads, that know a protocol's messages.
Findings messages_known(const std::vector<Source>& tree) {
  return lines_with(
      tree,
      {"TransactionId", "NegativeReplyCode", "stream_of", "simco/session", "simco/binding",
       "\"agent/"},
      [](const std::string& path) { return fs::path(path).parent_path() == "loadgen"; });
}

// Identity and refusal of a message are known to its workload.
TEST(Tree, TheGeneratorKnowsNoMessages) {
  const std::vector<std::string> words = {"#include \"agent/link.hpp\"", "TransactionId tid;"};
  EXPECT_EQ(messages_known({{"loadgen/client.hpp", words}}).size(), 2U);
  EXPECT_EQ(messages_known({{"loadgen/per/client.hpp", words}}).size(), 0U);
  EXPECT_EQ(messages_known(sources()), Findings());
}

/// Parts of the SIP workload with sockets and options.
bool is_skin_of_sip(const std::string& path) {
  return fs::path(path).stem().string().starts_with("sip_") || path.contains("/replay/");
}

/// Files without I/O, clock and log.
bool is_state_machine(const std::string& path) {
  const auto folder = folder_of(path);
  return folder == "simco/wire" || folder == "simco/session" || folder == "middlebox/policy" ||
         folder == "middlebox/rule" || folder == "middlebox/core" ||
         folder == "agent/ng/protocol" || folder == "agent/ng/call" ||
         (path.starts_with("loadgen/sip/") && !is_skin_of_sip(path));
}

TEST(Tree, StateMachinesKnowNoSocketsAndReadNoClock) {
  const std::vector<std::string> banned = {"boost/asio",  "agent/agent.hpp", "sys/socket.h",
                                           "lock::now()", "simco/log/",      "<thread>"};
  const std::vector<std::string> words = {"#include <boost/asio/io_context.hpp>",
                                          "now_ = std::chrono::steady_clock::now();",
                                          "#include \"simco/log/log.hpp\"", "now_ = now;"};
  for (const char* path :
       {"middlebox/core/core.cpp", "agent/ng/call/call.cpp", "loadgen/sip/message.cpp"}) {
    EXPECT_EQ(lines_with({{path, words}}, banned, is_state_machine).size(), 3U) << path;
  }
  for (const char* path : {"middlebox/serve/server.cpp", "agent/ng/serve/server.cpp"}) {
    EXPECT_EQ(lines_with({{path, words}}, banned, is_state_machine).size(), 0U) << path;
  }
  EXPECT_EQ(lines_with(sources(), banned, is_state_machine), Findings());
}

/// Parts of the nftables backend that work without a kernel.
const std::set<std::string> kPureParts = {"element_planner", "error_attribution", "limits"};
const std::string kNftables = "middlebox/backend/nftables/";

bool is_pure_part(const std::string& path) {
  return path.starts_with(kNftables) && kPureParts.contains(fs::path(path).stem());
}
bool is_match(const std::string& path) { return folder_of(path) == "middlebox/backend/match"; }

/// Returns includes of the kernel, or of parts with a kernel, in parts without it.
Findings kernel_in_pure_parts(const std::vector<Source>& tree) {
  auto result = lines_with(tree, {"boost/asio", "mnl", "nftnl", "linux/", "simco/log/", "::now"},
                           [](const auto& path) { return is_match(path) || is_pure_part(path); });
  for (auto& line : lines_with(tree, {"nftables"}, is_match)) result.push_back(std::move(line));
  for (auto& line : lines_that(tree, [](const std::string& path, const std::string& line) {
         const auto target = target_of(line);
         return is_pure_part(path) && target.starts_with(kNftables) && !is_pure_part(target);
       })) {
    result.push_back(std::move(line));
  }
  return result;
}

TEST(Tree, WhatDecidesAboutElementsKnowsNoKernel) {
  const std::vector<std::string> words = {
      "#include <libmnl/libmnl.h>", "#include \"middlebox/backend/nftables/netlink.hpp\"",
      "#include \"middlebox/backend/nftables/elements/element_planner.hpp\""};
  EXPECT_EQ(kernel_in_pure_parts({{kNftables + "element_planner.cpp", words}}).size(), 2U);
  EXPECT_EQ(kernel_in_pure_parts({{"middlebox/backend/match/element.hpp", words}}).size(), 3U);
  EXPECT_EQ(kernel_in_pure_parts({{kNftables + "table.cpp", words}}).size(), 0U);
  std::size_t seen = 0;
  for (const auto& source : sources()) seen += is_match(source.path) || is_pure_part(source.path);
  EXPECT_GT(seen, 11U);
  EXPECT_EQ(kernel_in_pure_parts(sources()), Findings());
}

bool is_backend(const std::string& path) {
  return folder_of(path).starts_with("middlebox/backend") ||
         folder_of(path) == "middlebox/config/backends";
}

// A backend is a row in the table of middlebox/config/backends/, a store one in make_store.cpp.
TEST(Tree, OnlyTheirTablesNameBackendsAndStores) {
  const std::vector<std::string> names = {"null_backend", "nftables_backend", "== \"nftables\"",
                                          "== \"null\"",  "sqlite_store",     "redis_store",
                                          "SqliteStore",  "RedisStore",       "redis://"};
  const auto must_not = [](const std::string& path) {
    const auto folder = folder_of(path);
    return !is_backend(path) && folder != "middlebox/store" && folder != "tests";
  };
  const std::vector<std::string> words = {"if (backend == \"nftables\") {",
                                          "SqliteStore store(path);"};
  EXPECT_EQ(lines_with({{"middlebox/main.cpp", words}}, names, must_not).size(), 2U);
  EXPECT_EQ(lines_with({{"middlebox/store/make_store.cpp", words}}, names, must_not).size(), 0U);
  EXPECT_EQ(lines_with(sources(), names, must_not), Findings());
}

/// Returns where lines have over 100 columns and functions over 70 lines.
Findings longer_than_a_screen(const std::vector<Source>& tree) {
  std::vector<std::string> result;
  for (const auto& source : tree) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const auto& line = source.lines[i];
      if (line.size() > 100) result.push_back(source.path + ":" + std::to_string(i + 1));
      // With clang-format's layout a function at file level begins with its signature, which may
      // take several lines, in the first column, and ends in a brace of its own there.
      const bool starts = !line.empty() && !std::string(" }/#").contains(line[0]);
      if (starts && !line.ends_with(";")) begin = i;
      const bool test =
          source.lines[begin].starts_with("TEST") || folder_of(source.path) == "tests";
      if (line == "}" && !test && i - begin > 70) {
        result.push_back(source.path + ":" + std::to_string(begin + 1));
      }
    }
  }
  return result;
}

TEST(Tree, LinesAndFunctionsFitAScreen) {
  std::vector<std::string> function(72, "  work();");
  function.front() = "void run() {";
  function.back() = "}";
  EXPECT_EQ(longer_than_a_screen({{"middlebox/main.cpp", function}}).size(), 1U);
  function.erase(function.begin() + 1);
  EXPECT_EQ(longer_than_a_screen({{"middlebox/main.cpp", function}}).size(), 0U);
  EXPECT_EQ(longer_than_a_screen({{"tests/a.cpp", {std::string(101, 'x')}}}).size(), 1U);
  EXPECT_EQ(longer_than_a_screen(sources()), Findings());
}

/// Suites and tests of the tree, as `Suite.Name`, and `Suite.*` for each suite.
std::set<std::string> test_names() {
  static const std::regex kTest(R"(^TEST(?:_F|_P)?\((\w+), (\w+)\))");
  std::set<std::string> result;
  for (const auto& source : sources()) {
    for (const auto& line : source.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, kTest)) continue;
      result.insert(match[1].str() + ".*");
      result.insert(match[1].str() + "." + match[2].str());
    }
  }
  return result;
}

/// Returns the tests and files that rows of a page name and that do not exist. Counts all in
/// `found`.
Findings broken_promises(std::istream& page, const std::set<std::string>& tests,
                         std::size_t& found) {
  static const std::regex kName(R"(`(\w+\.(?:\w+|\*))`)");
  static const std::regex kPath(R"(`(tests/[\w/]+)`)");
  std::vector<std::string> result;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| ")) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), kName), end; at != end; ++at, ++found) {
      if (!tests.contains((*at)[1])) result.push_back((*at)[1]);
    }
    for (std::sregex_iterator at(line.begin(), line.end(), kPath), end; at != end; ++at, ++found) {
      if (!fs::exists(kRoot / (*at)[1].str())) result.push_back((*at)[1]);
    }
  }
  return result;
}

// A promise whose test is gone is a promise that nobody keeps.
TEST(Tree, WhatTheSecurityPageNamesExists) {
  const auto tests = test_names();
  std::size_t found = 0;
  std::istringstream page(
      "| a promise | `Tree.ArrowsPointDown`, `Tree.*`, `Tree.IsGreen`, `tests/unit`, "
      "`tests/none` |\nIn a text `Tree.IsGreen` may be named.\n");
  EXPECT_EQ(broken_promises(page, tests, found), (Findings{"Tree.IsGreen", "tests/none"}));
  EXPECT_EQ(found, 5U);
  std::ifstream security(kRoot / "doc/security.md");
  EXPECT_EQ(broken_promises(security, tests, found), Findings());
  EXPECT_GT(found, 25U);
}

}  // namespace
}  // namespace simco::test
