// The promises of CONTRIBUTING.md for every file: bounds in limits.hpp, an opening comment with the
// file's purpose, clocks read where they may be, nothing declared that is not used, no mention of
// files that are not there. Each rule is tried on bad examples first, because a rule that finds
// nothing may just be blind.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/tree.hpp"

namespace simco::test {
namespace {

namespace fs = std::filesystem;

// --- Bounds --------------------------------------------------------------------------------------

/// The end of a bound's name. Sizes and numbers that a format fixes are no bounds.
const std::regex kBound(
    R"(\bconstexpr [\w:]+ k\w*(?:Max|Min|Limit|Timeout|Patience|PatienceMs|MaxMs|MinMs)\b)");
const std::set<std::string> kFixedByFormats = {
    "kLengthMin", "kLengthMax", "kTidMax", "kValueMax", "kPortMax", "kVerifyMax", "kSessionAgeMax"};

/// The sizes and times of backends are bounds whatever their names.
const std::regex kBoundOfBackend(R"(\bconstexpr std::(size_t|chrono::\w+) \w)");

Findings bounds_outside_limits(const std::vector<Source>& tree) {
  static const std::regex kName(R"(\bk\w+)");
  return lines_that(tree, [](const std::string& path, const std::string& line) {
    if (!is_product(path) || path.ends_with("/limits.hpp")) return false;
    if (path.starts_with("middlebox/backend/") && std::regex_search(line, kBoundOfBackend)) {
      return true;
    }
    std::smatch match;
    if (!std::regex_search(line, match, kBound)) return false;
    const std::string declaration = match[0];
    std::regex_search(declaration, match, kName);
    return !kFixedByFormats.contains(match[0]);
  });
}

TEST(TreePromises, BoundsAreInLimits) {
  const Source bad{"middlebox/core/core.cpp", {"constexpr std::size_t kQueueMax = 10;"}};
  const Source good{"middlebox/limits.hpp", bad.lines};
  const Source format{"simco/wire/codec.hpp", {"static constexpr std::size_t kLengthMin = 4;"}};
  const Source backend{
      "middlebox/backend/nftables/table.cpp",
      {"constexpr std::size_t kPieces = 3;", "inline constexpr std::chrono::seconds kIdle{1};"}};
  EXPECT_EQ(bounds_outside_limits({bad, backend}).size(), 3U);
  EXPECT_EQ(bounds_outside_limits(
                {good, format, {"middlebox/backend/nftables/limits.hpp", backend.lines}}),
            Findings());
  EXPECT_EQ(bounds_outside_limits(sources()), Findings());
}

// --- Openings ------------------------------------------------------------------------------------

/// Returns the longer files of the product, and all headers, that do not open with their purpose.
Findings without_opening(const std::vector<Source>& tree) {
  constexpr std::size_t kShort = 100;
  Findings result;
  for (const auto& source : tree) {
    const bool header = source.path.ends_with(".hpp");
    if (!is_product(source.path) || (!header && source.lines.size() <= kShort)) continue;
    if (source.lines.empty() || !source.lines[0].starts_with("// ")) result.push_back(source.path);
  }
  return result;
}

TEST(TreePromises, FilesOpenWithWhatTheyDo) {
  const std::vector<std::string> long_one(101, "int a;");
  EXPECT_EQ(without_opening({{"simco/a.cpp", long_one}, {"simco/a.hpp", {"#pragma once"}}}).size(),
            2U);
  EXPECT_EQ(without_opening({{"simco/a.cpp", {"int a;"}}, {"simco/a.hpp", {"// A header."}}}),
            Findings());
  EXPECT_EQ(without_opening(sources()), Findings());
}

// --- Clocks --------------------------------------------------------------------------------------

/// Files that may read a clock: the middlebox's one clock, its metrics, those with timers of their
/// own, and those that measure.
const std::set<std::string> kClocks = {
    "agent/driver.cpp",
    "agent/keeper.cpp",
    "agent/ng/serve/counter_client.cpp",
    "agent/ng/serve/server.cpp",
    "agent/simcoctl/print.cpp",
    "agent/simcoctl/top.cpp",
    "loadgen/cross/journal.cpp",
    "loadgen/generator.cpp",
    "loadgen/replay/agent.cpp",
    "loadgen/sip/sip_client.cpp",
    "loadgen/sip/sip_server.cpp",
    "middlebox/backend/nftables/options.hpp",
    "middlebox/clock.hpp",
    "middlebox/commit/stage_times.hpp",
    "middlebox/observe/metrics.cpp",
    "middlebox/store/redis_boxes.cpp",
    "simco/net/quic/endpoint.cpp",
    "simco/net/sctp/channel.hpp",
    "simco/net/sctp/userland_stack.hpp",
};

std::set<std::string> readers_of_clocks(const std::vector<Source>& tree) {
  std::set<std::string> result;
  static const std::regex kRead(
      R"([Cc]lock::now\b|\bgettimeofday\(|\bclock_gettime\(|\btime\(nullptr\))");
  for (const auto& source : tree) {
    if (!is_product(source.path)) continue;
    for (const auto& line : source.lines) {
      if (std::regex_search(line, kRead)) result.insert(source.path);
    }
  }
  return result;
}

TEST(TreePromises, ClocksAreReadInFewPlaces) {
  for (const char* line : {"const auto now = std::chrono::steady_clock::now();",
                           "start_ = Clock::now();", "seed(time(nullptr));"}) {
    EXPECT_EQ(readers_of_clocks({{"middlebox/commit/pipeline.cpp", {line}}}).size(), 1U) << line;
  }
  EXPECT_EQ(readers_of_clocks({{"middlebox/commit/pipeline.cpp", {"settle(clock.now());"}}}).size(),
            0U);
  EXPECT_EQ(readers_of_clocks(sources()), kClocks);
}

// --- Declarations --------------------------------------------------------------------------------

/// Used in ways that reading does not find.
const std::set<std::string> kFoundByLookup = {"AbslHashValue"};

std::string without_comment(const std::string& line) {
  static const std::regex kComment(R"((^|\s)//.*)");
  return std::regex_replace(line, kComment, "");
}

/// Functions that a header of the product declares and that nothing calls.
Findings dead_declarations(const std::vector<Source>& tree) {
  static const std::regex kWord(R"(\b[A-Za-z_]\w*\b)");
  static const std::regex kDefinition(R"(^(?=\w)[\w:<>,*& ]*\b\w+::(\w+)\()");
  static const std::regex kDeclaration(
      R"(^\s+(?:static |virtual |constexpr |explicit |inline )*[\w:<>,*& ]+?[ *&](\w+)\()");
  static const std::regex kStatement(R"(^\s*(?:return|if|for|while|throw|//|co_return|else)\b)");
  std::map<std::string, int> uses;
  for (const auto& source : tree) {
    for (const auto& all : source.lines) {
      const auto line = without_comment(all);
      for (std::sregex_iterator word(line.begin(), line.end(), kWord), end; word != end; ++word) {
        ++uses[word->str()];
      }
      std::smatch match;
      if (std::regex_search(line, match, kDefinition)) --uses[match[1]];
    }
  }
  return lines_that(tree, [&](const std::string& path, const std::string& line) {
    std::smatch match;
    return is_product(path) && path.ends_with(".hpp") && !std::regex_search(line, kStatement) &&
           std::regex_search(line, match, kDeclaration) && uses[match[1]] <= 1 &&
           !kFoundByLookup.contains(match[1]);
  });
}

TEST(TreePromises, WhatIsDeclaredIsUsed) {
  const Source header{"simco/net/a.hpp", {"class A {", "  void forgotten(int value);", "};"}};
  const Source body{"simco/net/a.cpp", {"void A::forgotten(int value) {"}};
  const Source caller{"simco/net/b.cpp", {"  a.forgotten(1);"}};
  const Source qualified{"simco/net/c.cpp", {"  A::forgotten(1);"}};
  const Source comment{"simco/net/d.cpp", {"  run();  // not forgotten"}};
  EXPECT_EQ(dead_declarations({header, body, comment}).size(), 1U);
  EXPECT_EQ(dead_declarations({header, body, caller}), Findings());
  EXPECT_EQ(dead_declarations({header, body, qualified}), Findings());
  EXPECT_EQ(dead_declarations(sources()), Findings());
}

// --- References ----------------------------------------------------------------------------------

/// Files of the tree, from the root, and each of their tails: "net/tls.hpp" for
/// "simco/net/tls.hpp".
std::set<std::string> names_of_files() {
  std::set<std::string> result;
  for (fs::recursive_directory_iterator entry(kRoot), end; entry != end; ++entry) {
    const auto name = entry->path().filename().string();
    if (entry->is_directory() && (name == "build" || name.starts_with("."))) {
      entry.disable_recursion_pending();
      continue;
    }
    std::string path = fs::relative(entry->path(), kRoot).generic_string();
    result.insert(path);
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/')) {
      path.erase(0, slash + 1);
      result.insert(path);
    }
  }
  return result;
}

/// Files that comments and documents name and that `files` does not have, but for other libraries'
/// headers.
Findings dangling_references(const std::vector<Source>& tree, const std::set<std::string>& files) {
  static const std::regex kFile(R"([\w./-]*\w\.(?:cpp|hpp|md|py)\b)");
  return lines_that(tree, [&](const std::string& path, const std::string& line) {
    const auto comment = path.ends_with(".md") ? 0 : line.find("//");
    if (comment == std::string::npos) return false;
    const auto words = line.substr(comment);
    if (words.contains("://") || words.starts_with("#include <")) return false;
    return std::any_of(std::sregex_iterator(words.begin(), words.end(), kFile), {},
                       [&](const std::smatch& word) {
                         auto name = word.str();
                         while (name.starts_with("../") || name.starts_with("./")) {
                           name.erase(0, name.find('/') + 1);
                         }
                         return !files.contains(name) && !name.starts_with("lab-results/") &&
                                name != "full-report.md";
                       });
  });
}

TEST(TreePromises, FilesThatAreNamedExist) {
  const std::set<std::string> files = {"simco/net/tls.hpp", "net/tls.hpp", "tls.hpp"};
  const Source bad{"simco/net/a.cpp",
                   {"// As in "
                    "sctp_channel.hpp."}};
  const Source good{"simco/net/a.cpp", {"// As in tls.hpp, see net/tls.hpp."}};
  EXPECT_EQ(dangling_references({bad}, files).size(), 1U);
  EXPECT_EQ(dangling_references({{"doc/a.md",
                                  {"see `"
                                   "decisions.md`"}}},
                                files)
                .size(),
            1U);
  EXPECT_EQ(dangling_references({good}, files), Findings());
  const auto all = names_of_files();
  EXPECT_EQ(dangling_references(sources(), all), Findings());
  EXPECT_EQ(dangling_references(documents(), all), Findings());
}

}  // namespace
}  // namespace simco::test
