// The size of a class: at most 45 functions and 15 data members, defined in one file. A class that
// has more is several: give it parts. Counted in the text, by declarations that end in ';' or '{'
// at the top level of the class.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "tests/unit/tree.hpp"

namespace simco::test {
namespace {

constexpr std::size_t kFunctionsMax = 45;
constexpr std::size_t kMembersMax = 15;

struct Size {
  std::size_t functions = 0;
  std::size_t members = 0;
};
bool too_large(const Size& size) {
  return size.functions > kFunctionsMax || size.members > kMembersMax;
}

/// Replaces matches of `pattern` until there are none.
std::string without(std::string text, const std::regex& pattern, const char* by = "") {
  for (std::string next;; text = std::move(next)) {
    next = std::regex_replace(text, pattern, by);
    if (next == text) return text;
  }
}

std::string code_of(const Source& source) {
  static const std::regex kText(R"re("(\\.|[^"\\])*"|'(\\.|[^'\\])')re");
  static const std::regex kComment(R"(//.*|^\s*#.*)");
  std::string code;
  for (const auto& line : source.lines) {
    code += std::regex_replace(std::regex_replace(line, kText, "0"), kComment, "") + "\n";
  }
  return code;
}

/// Returns where the brace at `begin` is closed.
std::size_t end_of_block(const std::string& code, std::size_t begin) {
  int depth = 0;
  for (std::size_t i = begin; i < code.size(); ++i) {
    if (code[i] == '{') ++depth;
    if (code[i] == '}' && --depth == 0) return i;
  }
  return code.size();
}

/// The declarations of a class, each without the contents of its own braces.
std::vector<std::string> declarations(const std::string& body) {
  std::vector<std::string> result(1);
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i] == '{') {
      i = end_of_block(body, i);
      const auto next = body.find_first_not_of(" \n", i + 1);
      const bool goes_on = next != body.npos && std::string_view(",{)").contains(body[next]);
      if (!goes_on) result.emplace_back();
    } else if (body[i] == ';') {
      result.emplace_back();
    } else {
      result.back() += body[i];
    }
  }
  return result;
}

Size size_of(const std::string& body) {
  static const std::regex kLabel(R"(\b(public|private|protected)\s*:)");
  static const std::regex kArguments(R"(<[^<>]*>)");
  static const std::regex kOther(
      R"(^\s*(using|friend|enum|class|struct|union|static_assert|template\s*(class|struct))\b)");
  static const std::regex kStatic(R"(^\s*(inline\s+)?(static|constexpr)\b)");
  Size size;
  for (const auto& declaration : declarations(body)) {
    auto text = without(std::regex_replace(declaration, kLabel, ""), kArguments);
    if (!text.contains("operator")) text = text.substr(0, text.find('='));
    if (text.find_first_not_of(" \n") == text.npos || std::regex_search(text, kOther)) continue;
    if (text.contains('(')) {
      ++size.functions;
    } else if (!std::regex_search(text, kStatic)) {
      ++size.members;
    }
  }
  return size;
}

std::map<std::string, Size> classes(const std::vector<Source>& tree) {
  static const std::regex kClass(R"((enum\s+)?\bclass\s+(\w+)(\s+final)?\s*(:[^;{]*)?\{)");
  std::map<std::string, Size> result;
  for (const auto& source : tree) {
    if (!is_product(source.path)) continue;
    const auto code = code_of(source);
    for (std::sregex_iterator at(code.begin(), code.end(), kClass), end; at != end; ++at) {
      if ((*at)[1].matched) continue;
      const auto begin = static_cast<std::size_t>(at->position() + at->length() - 1);
      const auto body = code.substr(begin + 1, end_of_block(code, begin) - begin - 1);
      result[source.path + ": " + (*at)[2].str()] = size_of(body);
    }
  }
  return result;
}

TEST(ClassSize, IsCounted) {
  const Source source{
      "simco/a.hpp",
      {"enum class Kind { kA };", "class A final : public B<int> {",
       " public:", "  A() = default;  // not (this)", "  int f() const { return g(\"}\"); }",
       "  struct Inner { int x; int y(); };", "  using T = int;", " private:",
       "  std::function<void(int)> done_;", "  std::map<int, std::pair<int, int>> m_{};",
       "  static constexpr int kMax = f(1);", "  int n_ = f(2);", "};"}};
  const auto found = classes({source});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.begin()->first, "simco/a.hpp: A");
  EXPECT_EQ(found.begin()->second.functions, 2U);
  EXPECT_EQ(found.begin()->second.members, 3U);
  EXPECT_TRUE(too_large({46, 0}) && too_large({0, 16}) && !too_large({45, 15}));
}

TEST(ClassSize, IsBounded) {
  for (const auto& [name, size] : classes(sources())) {
    EXPECT_FALSE(too_large(size)) << name << ": " << size.functions << "/" << size.members;
  }
}

/// Returns the classes of a folder whose functions are defined in several of its files, with these.
std::map<std::string, std::set<std::string>> scattered(const std::vector<Source>& tree) {
  static const std::regex kDefinition(R"(^([A-Za-z][^;(]*)?\b(\w+)::~?\w+\()");
  std::set<std::string> names;
  for (const auto& [name, size] : classes(tree)) names.insert(name.substr(name.rfind(' ') + 1));
  std::map<std::string, std::set<std::string>> result;
  for (const auto& source : tree) {
    // absent.cpp stands for files that are not built.
    if (!is_product(source.path) || source.path.ends_with("/absent.cpp")) continue;
    const auto folder = source.path.substr(0, source.path.rfind('/'));
    for (const auto& line : source.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, kDefinition) || !names.contains(match[2])) continue;
      // A header has the definitions of templates.
      const auto name = source.path.substr(0, source.path.rfind('.'));
      result[folder + ": " + match[2].str()].insert(name);
    }
  }
  std::erase_if(result, [](const auto& one) { return one.second.size() == 1; });
  return result;
}

TEST(ClassSize, IsOneFile) {
  const Source header{"simco/a.hpp", {"class A {", "};"}};
  const Source one{"simco/a.cpp", {"int A::f() {"}};
  const Source other{"simco/a_end.cpp", {"A::~A() {"}};
  EXPECT_EQ(scattered({header, one}).size(), 0U);
  EXPECT_EQ(scattered({{"simco/a.hpp", {"class A {", "};", "int A::g() {"}}, one}).size(), 0U);
  EXPECT_EQ(scattered({header, one, other}).size(), 1U);
  for (const auto& [name, files] : scattered(sources())) {
    ADD_FAILURE() << name << " is defined in " << testing::PrintToString(files);
  }
}

}  // namespace
}  // namespace simco::test
