// Comments and documents name their subjects: doc/glossary.md has the nouns. A clause in the place
// of a noun ("what arrives while paused" for "datagrams that arrive while paused") leaves the noun
// to the reader, so this counts the words that begin such clauses.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <string_view>

#include "tests/unit/tree.hpp"

namespace {

struct Words {
  std::size_t all = 0;
  std::size_t clauses = 0;  ///< "what", "who" and "whom"

  double per_thousand() const {
    return 1000.0 * static_cast<double>(clauses) / static_cast<double>(all);
  }
};

void count(std::string_view text, Words& words) {
  std::string word;
  for (const char c : std::string(text) + ' ') {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '\'') {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty()) {
      ++words.all;
      if (word == "what" || word == "who" || word == "whom") ++words.clauses;
      word.clear();
    }
  }
}

TEST(Language, CommentsNameTheirSubjects) {
  Words words;
  for (const auto& source : simco::test::sources()) {
    if (!simco::test::is_product(source.path)) continue;
    for (const std::string_view line : source.lines) {
      const auto comment = line.find("//");
      if (comment != line.npos) count(line.substr(comment), words);
    }
  }
  EXPECT_GT(words.all, 40'000U);
  EXPECT_LT(words.per_thousand(), 2);
}

TEST(Language, DocumentsNameTheirSubjects) {
  Words words;
  for (const auto& document : simco::test::documents()) {
    if (!document.path.starts_with("doc/")) continue;
    for (const auto& line : document.lines) {
      if (!line.starts_with('#')) count(line, words);
    }
  }
  EXPECT_GT(words.all, 20'000U);
  EXPECT_LT(words.per_thousand(), 0.6);
}

TEST(Language, ClausesAreCounted) {
  Words words;
  count("What's queued is lost; tell whoever waits. What arrives, and who sent it?", words);
  EXPECT_EQ(words.all, 13U);
  EXPECT_EQ(words.clauses, 2U);
}

}  // namespace
