// Text that people read (comments, messages, documents) is plain technical English: finds the turns
// of phrase that are known to slip in, in the product and its documents. doc/glossary.md has the
// words to use instead. Not read: tests, the change log and generated reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/tree.hpp"

namespace {

namespace fs = std::filesystem;

using simco::test::kRoot;

/// A turn of phrase, and what to write instead. Allowed directly after a word that ends in
/// `but_after`. `contains` is a part of every match, so that most lines are not searched.
struct Slip {
  std::string_view contains;
  const char* pattern;
  const char* instead;
  std::string_view but_after = {};
};

constexpr std::array kSlips = {
    Slip{" no ", R"(\b(?:is|are) no (?!longer\b|more than\b|less than\b)[A-Za-z])", "is not a ...",
         "here"},
    Slip{" to be", R"(\b(?:is|are) (?:not )?to be\b)", "must be"},
    Slip{"body", R"(\b(?:[Nn]o|[Ss]ome|[Ee]very|[Aa]ny)body\b)", "name the actor"},
    Slip{"hoever", R"(\b[Ww]hoever\b)", "name the actor"},
    Slip{"anew", R"(\banew\b)", "again"},
    Slip{"lest", R"(\blest\b)", "so that ... does not"},
    Slip{"for ever", R"(\bfor ever\b)", "indefinitely"},
    Slip{"earlier life", R"(\bearlier life\b)", "before the restart"},
    Slip{"there again", R"(\bthere again\b)", "restored"},
    Slip{"any more", R"(\bany more\b)", "no longer"},
    Slip{"has not got", R"(\bhas not got\b)", "does not have"},
    Slip{"// Answers", R"(//+ Answers\b)", "Returns"},
    Slip{"where there", R"(\bwhere there (?:is|are)\b)", "if there is"},
    Slip{" where", R"(\b(?:false|null|nullptr|nullopt|nothing|none) where\b)", "if"},
    Slip{"where ", R"(\bwhere (?:it|they) (?:cannot|has none|have none)\b)", "if"},
    Slip{"none of", R"(\b(?:is|are) none of\b)", "expected A or B"},
    Slip{"what is more", R"(\b[Ww]hat is more\b)", "excess ones, or: moreover"},
    Slip{"a restart", R"(\btakes? a restart\b)", "needs a restart"},
    Slip{"beside this", R"(\bbeside this\b)", "next to this"},
    Slip{"takes them back", R"(\btakes? them back\b)", "releases them"},
    Slip{"taken, all", R"(\bnot taken, all\b)", "rejected; keeping the old one"},
};

/// Returns what to write instead of the first slip in `line`, or nullopt.
std::optional<std::string> slip_in(const std::string& line) {
  static const auto patterns = [] {
    std::vector<std::regex> result;
    for (const auto& slip : kSlips) result.emplace_back(slip.pattern);
    return result;
  }();
  for (std::size_t i = 0; i < kSlips.size(); ++i) {
    if (!line.contains(kSlips[i].contains)) continue;
    const auto allowed = kSlips[i].but_after;
    for (std::sregex_iterator at(line.begin(), line.end(), patterns[i]), end; at != end; ++at) {
      auto before = std::string_view(line).substr(0, static_cast<std::size_t>(at->position()));
      while (before.ends_with(' ')) before.remove_suffix(1);
      if (allowed.empty() || !before.ends_with(allowed)) {
        return "'" + at->str() + "': " + kSlips[i].instead;
      }
    }
  }
  return std::nullopt;
}

bool is_text(const fs::path& path) {
  static constexpr std::array kExtensions = {".cpp",     ".hpp",  ".h",     ".c", ".py",
                                             ".md",      ".toml", ".h2m",   ".3", ".5",
                                             ".service", ".lua",  ".cmake", ""};
  return std::ranges::find(kExtensions, path.extension().string()) != kExtensions.end();
}

std::vector<fs::path> texts() {
  std::vector<fs::path> result = {"README.md", "CONTRIBUTING.md", "SECURITY.md",
                                  "tests/campaigns/README.md", "tests/vectors/README.md"};
  for (const char* top : {"simco", "agent", "middlebox", "loadgen", "doc", "scripts"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const auto path = fs::relative(entry.path(), kRoot);
      const bool generated = path.generic_string().starts_with("doc/results/");
      if (entry.is_regular_file() && is_text(path) && !generated) result.push_back(path);
    }
  }
  return result;
}

TEST(Language, TextIsPlainEnglish) {
  std::size_t lines = 0;
  for (const auto& path : texts()) {
    std::ifstream stream(kRoot / path);
    std::size_t number = 0;
    for (std::string line; std::getline(stream, line); ++lines) {
      ++number;
      const auto slip = slip_in(line);
      EXPECT_FALSE(slip) << path.generic_string() << ":" << number << ": " << *slip;
    }
  }
  EXPECT_GT(lines, 10'000U);
}

TEST(Language, SlipsAreFound) {
  for (const char* line : {
           "return \"'x' is no LOW-HIGH\";",
           "/// Octets that are no message.",
           "return \"is to be a list, in brackets\";",
           "// The rule is not to be planned.",
           "// Nobody can see it, whoever asks.",
           "// somebody else's table",
           "/// Plans that a rule of an earlier life is there again.",
           "// The peer has begun anew.",
           "// lest it sees a PID mean two rules",
           "// waits for ever",
           "/// The connection is not there any more.",
           "// The cache has not got it.",
           "/// Answers the rule's place.",
           "/// The owner; 0 where there is none.",
           "/// Reads a number; false where `text` is none.",
           "/// Throws std::runtime_error where it cannot.",
           "'tpc' is none of tcp, sctp",
           "At most 100 a second, and what is more is counted.",
           "A change of this key takes a restart.",
           "Secrets are in files beside this one.",
           "// Ports of the pool, which takes them back.",
           "configuration not taken, all stays as it was",
       }) {
    EXPECT_TRUE(slip_in(line)) << line;
  }
}

TEST(Language, PlainTextIsAccepted) {
  for (const char* line : {
           "/// Returns nullopt if there is no such rule.",
           "There is no protection against root.",
           "// The middlebox is no longer the owner: there are no rules left.",
           "// The order in which changes are to become visible.",
           "std::optional<Token> token;  ///< answers the agent's challenge",
           "// The folder where it lives.",
           "const auto nobody_waits = queue.empty();",
       }) {
    EXPECT_FALSE(slip_in(line)) << line << " " << slip_in(line).value_or("");
  }
}

}  // namespace
