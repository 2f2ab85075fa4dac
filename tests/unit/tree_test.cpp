// What design and style promise of the source tree, checked by reading it: which folder may include
// which, how long lines and functions may get.
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

namespace {

namespace fs = std::filesystem;

using simco::test::kRoot;
using simco::test::Source;
using simco::test::sources;

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
/// folders: `folder/`, contents, what it sees, libraries.
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

/// Returns the includes of `tree` that the table does not have.
std::vector<std::string> forbidden_includes(const std::vector<Source>& tree) {
  const std::set<std::string> for_all_rooms = {"middlebox/clock.hpp", "middlebox/limits.hpp"};
  std::vector<std::string> result;
  for (const auto& source : tree) {
    const auto from = folder_of(source.path);
    if (from == "tests") continue;
    for (const auto& line : source.lines) {
      if (!line.starts_with("#include \"")) continue;
      const auto target = line.substr(10, line.size() - 11);
      const auto to = folder_of(target);
      if (to == "middlebox" && for_all_rooms.contains(target)) continue;
      const bool allowed =
          !from.empty() && !to.empty() && (to == from || arrows().at(from).contains(to));
      if (!allowed) result.push_back(source.path + " -> " + target);
    }
  }
  return result;
}

TEST(Tree, ArrowsPointDown) {
  std::istringstream table(
      "| folder | contents | sees | libraries |\n|---|---|---|---|\n| `a/wire/` | octets | | |\n"
      "| `a/net/` | channels | wire (values only) | Asio |\n| `b/` | all | wire, net | |\n");
  const auto read = read_arrows(table);
  EXPECT_EQ(read, (Arrows{{"a/wire", {}}, {"a/net", {"a/wire"}}, {"b", {"a/wire", "a/net"}}}));

  const Source bad{"simco/wire/codec.cpp", {"#include \"simco/net/error.hpp\""}};
  const Source elsewhere{"simco/wire/codec.cpp", {"#include \"codec.hpp\""}};
  const Source good{"middlebox/core/core.cpp",
                    {"#include \"middlebox/clock.hpp\"", "#include \"simco/net/crowd.hpp\""}};
  EXPECT_EQ(forbidden_includes({bad, elsewhere, good}).size(), 2U);

  EXPECT_GT(arrows().size(), 15U);
  for (const auto& source : sources()) EXPECT_FALSE(folder_of(source.path).empty()) << source.path;
  EXPECT_EQ(forbidden_includes(sources()), std::vector<std::string>());
}

// What is a message, and which stream it takes, is known above.
TEST(Tree, ChannelsCarryOctets) {
  const std::set<std::string> values = {"simco/wire/assert.hpp", "simco/wire/ids.hpp",
                                        "simco/wire/ip.hpp", "simco/wire/limits.hpp"};
  for (const auto& source : sources()) {
    if (folder_of(source.path) != "simco/net") continue;
    for (const auto& line : source.lines) {
      if (!line.starts_with("#include \"simco/wire/")) continue;
      EXPECT_TRUE(values.contains(line.substr(10, line.size() - 11)))
          << source.path << ": " << line;
    }
  }
}

/// Returns the lines outside simco/net that name a transport, or know what can be chosen about one.
std::vector<std::string> transports_named_above_net(const std::vector<Source>& tree) {
  static const std::regex kNamed(
      R"re(Transport::k|"sctp"|"tcp"|--transport (tcp|sctp)|"--sctp-|simco/net/(sctp/|tcp_)|)re"
      R"re(SctpOptions|SctpStack|SctpScheduler|settings\.sctp|kernel's SCTP.*")re");
  // IP protocols, as rules name them, and what the HTTP of the metrics goes over.
  static const std::regex kProtocol(R"(\{"\w+", \d+\}|set_protocol|"metrics"\))");
  std::vector<std::string> result;
  for (const auto& source : tree) {
    const auto folder = folder_of(source.path);
    if (folder == "simco/net" || folder == "simco/wire" || folder == "tests") continue;
    for (const auto& line : source.lines) {
      if (line.starts_with("//") || line.contains("///")) continue;
      if (std::regex_search(line, kNamed) && !std::regex_search(line, kProtocol)) {
        result.push_back(source.path + ": " + line);
      }
    }
  }
  return result;
}

/// Returns the lines of simco/net outside sctp/ that include something of it.
std::vector<std::string> includes_of_sctp(const std::vector<Source>& tree) {
  std::vector<std::string> result;
  for (const auto& source : tree) {
    if (folder_of(source.path) != "simco/net" || source.path.contains("/sctp/")) continue;
    for (const auto& line : source.lines) {
      if (line.starts_with("#include \"simco/net/sctp/")) result.push_back(source.path);
    }
  }
  return result;
}

// A transport is a folder, a row in the table of transport_type.cpp, and what can be chosen about
// it a member of TransportSettings.
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

  EXPECT_EQ(transports_named_above_net(sources()), std::vector<std::string>());
  auto found = includes_of_sctp(sources());
  std::ranges::sort(found);
  EXPECT_EQ(found,
            (std::vector<std::string>{"simco/net/transport.hpp", "simco/net/transport_type.cpp"}));
}

/// Returns the lines that name one of the workloads `names`, outside its folder and the table.
std::vector<std::string> workloads_named_elsewhere(const std::vector<Source>& tree,
                                                   const std::set<std::string>& names) {
  std::vector<std::string> result;
  for (const auto& source : tree) {
    const auto folder = folder_of(source.path);
    if (folder == "tests" || source.path == "loadgen/workload_type.cpp") continue;
    for (const auto& name : names) {
      const auto own = "loadgen/" + name + "/";
      if (source.path.starts_with(own)) continue;
      for (const auto& line : source.lines) {
        const bool spelt = folder == "loadgen" && line.contains("\"" + name + "\"");
        if (spelt || line.contains(own) || line.contains("simco-" + name)) {
          result.push_back(source.path + ": " + line);
        }
      }
    }
  }
  return result;
}

// A workload is a folder of the load generator and a row in the table of workload_type.cpp.
TEST(Tree, OnlyTheTableNamesAWorkload) {
  const std::vector<std::string> words = {"#include \"loadgen/echo/echo_client.hpp\"",
                                          "if (workload == \"echo\")", "// simco-echo", "echoes"};
  EXPECT_EQ(workloads_named_elsewhere({{"loadgen/main.cpp", words}}, {"echo"}).size(), 3U);
  EXPECT_EQ(workloads_named_elsewhere({{"loadgen/echo/a.cpp", words}}, {"echo"}).size(), 0U);

  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(kRoot / "loadgen")) {
    if (entry.is_directory()) folders.insert(entry.path().filename());
  }
  EXPECT_GE(folders.size(), 2U);
  EXPECT_EQ(workloads_named_elsewhere(sources(), folders), std::vector<std::string>());
}

/// Returns the lines of loadgen/ itself, without the workloads, that know a protocol's messages.
std::vector<std::string> messages_known(const std::vector<Source>& tree) {
  std::vector<std::string> result;
  for (const auto& source : tree) {
    if (fs::path(source.path).parent_path() != "loadgen") continue;
    for (const auto& line : source.lines) {
      for (const char* banned : {"TransactionId", "NegativeReplyCode", "stream_of", "simco/session",
                                 "simco/binding", "\"agent/"}) {
        if (line.contains(banned)) result.push_back(source.path + ": " + line);
      }
    }
  }
  return result;
}

// What identifies a message or refuses it is known to its workload.
TEST(Tree, TheGeneratorKnowsNoMessages) {
  const std::vector<std::string> words = {"#include \"agent/link.hpp\"", "TransactionId tid;"};
  EXPECT_EQ(messages_known({{"loadgen/client.hpp", words}}).size(), 2U);
  EXPECT_EQ(messages_known({{"loadgen/per/client.hpp", words}}).size(), 0U);
  EXPECT_EQ(messages_known(sources()), std::vector<std::string>());
}

/// Parts of the SIP workload with sockets and options.
bool is_skin_of_sip(const std::string& path) {
  return fs::path(path).stem().string().starts_with("sip_");
}

/// Parts of simco-ng that do I/O or read the options.
const std::set<std::string> kSkinOfNg = {"main", "metrics", "options", "server", "state_store"};

TEST(Tree, StateMachinesKnowNoSocketsAndReadNoClock) {
  for (const auto& source : sources()) {
    const auto folder = folder_of(source.path);
    const bool without_io =
        folder == "simco/wire" || folder == "simco/session" || folder == "middlebox/policy" ||
        folder == "middlebox/rule" ||
        (folder == "agent/ng" && !kSkinOfNg.contains(fs::path(source.path).stem())) ||
        (source.path.starts_with("loadgen/sip/") && !is_skin_of_sip(source.path)) ||
        source.path.starts_with("middlebox/core/");
    if (!without_io) continue;
    for (const auto& line : source.lines) {
      for (const char* banned :
           {"boost/asio", "agent/agent.hpp", "sys/socket.h", "lock::now()", "spdlog", "<thread>"}) {
        EXPECT_EQ(line.find(banned), std::string::npos) << source.path << ": " << line;
      }
    }
  }
}

/// Parts of the nftables backend that work without a kernel.
const std::set<std::string> kPureParts = {"drift", "element_planner", "error_attribution",
                                          "operation", "retry_rule"};

TEST(Tree, WhatDecidesAboutElementsKnowsNoKernel) {
  const std::string folder = "middlebox/backend/nftables/";
  std::set<std::string> pure;
  for (const auto& part : kPureParts) pure.insert(folder + part + ".hpp");
  pure.insert({folder + "limits.hpp"});
  std::size_t seen = 0;
  for (const auto& source : sources()) {
    const auto dot = source.path.rfind('.');
    const bool in_match = folder_of(source.path) == "middlebox/backend/match";
    if (!in_match && !pure.contains(source.path.substr(0, dot) + ".hpp")) continue;
    ++seen;
    for (const auto& line : source.lines) {
      for (const char* banned : {"boost/asio", "mnl", "nftnl", "linux/", "spdlog", "::now"}) {
        EXPECT_EQ(line.find(banned), std::string::npos) << source.path << ": " << line;
      }
      if (in_match) {
        EXPECT_EQ(line.find("nftables"), std::string::npos) << source.path << ": " << line;
      }
      if (in_match || !line.starts_with("#include \"" + folder)) continue;
      EXPECT_TRUE(pure.contains(line.substr(10, line.size() - 11))) << source.path << ": " << line;
    }
  }
  EXPECT_GT(seen, 15U);
}

TEST(Tree, BoundsOfBackendsAreInTheirLimits) {
  static const std::regex kBound(R"(\bconstexpr std::(size_t|chrono::\w+) \w)");
  std::size_t found = 0;
  for (const auto& source : sources()) {
    if (!folder_of(source.path).starts_with("middlebox/backend")) continue;
    for (const auto& line : source.lines) {
      if (!std::regex_search(line, kBound)) continue;
      ++found;
      EXPECT_TRUE(source.path.ends_with("/limits.hpp")) << source.path << ": " << line;
    }
  }
  EXPECT_GT(found, 10U);
}

// Backends take the time from the change or from the one clock that they are given.
TEST(Tree, BackendsReadNoClock) {
  std::set<std::string> clocks;
  for (const auto& source : sources()) {
    if (!folder_of(source.path).starts_with("middlebox/backend")) continue;
    for (const auto& line : source.lines) {
      if (line.find("clock::now") != std::string::npos) clocks.insert(source.path);
    }
  }
  EXPECT_EQ(clocks, std::set<std::string>{"middlebox/backend/nftables/options.hpp"});
}

// A backend is a row in the table of middlebox/backends/, a store one in make_store.cpp.
TEST(Tree, OnlyTheirTablesNameBackendsAndStores) {
  for (const auto& source : sources()) {
    const auto folder = folder_of(source.path);
    if (folder.starts_with("middlebox/backend") || folder == "middlebox/store" ||
        folder == "tests") {
      continue;
    }
    for (const auto& line : source.lines) {
      for (const char* name : {"null_backend", "nftables_backend", "== \"nftables\"", "== \"null\"",
                               "sqlite_store", "redis_store", "SqliteStore", "redis://"}) {
        EXPECT_EQ(line.find(name), std::string::npos) << source.path << ": " << line;
      }
    }
  }
}

TEST(Tree, LinesAndFunctionsFitAScreen) {
  for (const auto& source : sources()) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const auto& line = source.lines[i];
      EXPECT_LE(line.size(), 100U) << source.path << ":" << i + 1;
      // With clang-format's layout a function at file level begins with its signature, which may
      // take several lines, in the first column, and ends in a brace of its own there.
      const bool starts = !line.empty() && std::string(" }/#").find(line[0]) == std::string::npos;
      if (starts && !line.ends_with(";")) begin = i;
      const bool test =
          source.lines[begin].starts_with("TEST") || folder_of(source.path) == "tests";
      if (line == "}" && !test) {
        EXPECT_LE(i - begin, 70U) << source.path << ":" << begin + 1;
      }
    }
  }
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

// A promise whose test is gone is a promise that nobody keeps.
TEST(Tree, WhatTheSecurityPageNamesExists) {
  static const std::regex kName(R"(`(\w+\.(?:\w+|\*))`)");
  static const std::regex kPath(R"(`(tests/[\w/]+)`)");
  const auto tests = test_names();
  std::ifstream stream(kRoot / "doc/security.md");
  std::size_t found = 0;
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("| ")) continue;
    for (std::sregex_iterator at(line.begin(), line.end(), kName), end; at != end; ++at, ++found) {
      EXPECT_TRUE(tests.contains((*at)[1])) << "doc/security.md names " << (*at)[1];
    }
    for (std::sregex_iterator at(line.begin(), line.end(), kPath), end; at != end; ++at, ++found) {
      EXPECT_TRUE(fs::exists(kRoot / (*at)[1].str())) << "doc/security.md names " << (*at)[1];
    }
  }
  EXPECT_GT(found, 20U);
}

}  // namespace
