// Links in documents lead somewhere: to a file or folder of the tree, and to a heading that is
// there.
#include <gtest/gtest.h>

#include <cctype>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/tree.hpp"

namespace simco::test {
namespace {

namespace fs = std::filesystem;

/// The anchor that a heading gets: lower case, blanks as dashes, and no punctuation.
std::string anchor_of(std::string_view heading) {
  std::string result;
  for (const char c : heading) {
    const auto octet = static_cast<unsigned char>(c);
    if (std::isalnum(octet) != 0 || c == '-' || c == '_' || octet >= 0x80) {
      result.push_back(static_cast<char>(std::tolower(octet)));
    } else if (c == ' ') {
      result.push_back('-');
    }
  }
  return result;
}

std::set<std::string> anchors_in(const fs::path& document) {
  std::set<std::string> result;
  for (const auto& line : read_source(document).lines) {
    const auto text = line.find_first_not_of('#');
    if (text == 0 || text == std::string::npos || line[text] != ' ') continue;
    result.insert(anchor_of(line.substr(text + 1)));
  }
  return result;
}

/// Whether a link of `document` leads somewhere. Links to other hosts are not followed.
bool leads_somewhere(const std::string& link, const fs::path& document) {
  if (link.contains("://")) return true;
  const auto hash = link.find('#');
  const auto file = link.substr(0, hash);
  const auto target = file.empty() ? document : document.parent_path() / file;
  if (!fs::exists(target)) return false;
  return hash == std::string::npos || anchors_in(target).contains(link.substr(hash + 1));
}

TEST(Links, LeadSomewhere) {
  static const std::regex kLink(R"(\]\(([^()\s]+)\))");
  std::size_t links = 0;
  for (const auto& document : documents()) {
    for (const auto& line : document.lines) {
      for (std::sregex_iterator at(line.begin(), line.end(), kLink), end; at != end; ++at) {
        ++links;
        EXPECT_TRUE(leads_somewhere((*at)[1], kRoot / document.path))
            << document.path << ": " << (*at)[1];
      }
    }
  }
  EXPECT_GT(links, 100U);
}

TEST(Links, DeadOnesAreFound) {
  const auto document = kRoot / "README.md";
  for (const char* link : {"https://www.rfc-editor.org/rfc/rfc4540", "doc", "doc/rfc4540.md",
                           "#license", "doc/rfc4540.md#what-is-not-implemented"}) {
    EXPECT_TRUE(leads_somewhere(link, document)) << link;
  }
  for (const char* link : {"doc/none.md", "#none", "doc/rfc4540.md#none", "doc/none.md#license"}) {
    EXPECT_FALSE(leads_somewhere(link, document)) << link;
  }
}

}  // namespace
}  // namespace simco::test
