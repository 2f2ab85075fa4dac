#include "tests/unit/ng/families.hpp"

#include <regex>

#include "tests/unit/ng/calls.hpp"

namespace simco::test {
namespace {

/// Returns `text` with what `replace` makes of each match.
template <class Replace>
std::string replace_all(const std::string& text, const char* pattern, Replace replace) {
  const std::regex regex(pattern);
  std::string result;
  auto rest = text.begin();
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    result.append(rest, text.begin() + at->position());
    result += replace(*at);
    rest = text.begin() + at->position() + at->length();
  }
  return result.append(rest, text.end());
}

}  // namespace

std::string Translator::there(const std::string& text) {
  if (family_ == Family::kIpv4) return text;
  constexpr const char* kAnyAddress =
      R"(IP([46])\b|\b(\d+)\.(\d+)\.(\d+)\.(\d+)\b(/127)?|\b2001:db8:[0-9a-f:]+)";
  return replace_all(text, kAnyAddress, [&](const std::smatch& found) -> std::string {
    if (found[1].matched) return found[1] == "4" ? "IP6" : "IP4";
    if (!found[2].matched) return "192.0.2.66";
    if (found[2] == "0") return "::";
    if (found[2] == "224") return "ff15::1";
    const std::string address = found[2] == "10"
                                    ? "2001:db8:1::" + found[4].str() + ":" + found[5].str()
                                    : "2001:db8:2::" + found[2].str() + ":" + found[5].str();
    const auto usual = std::regex_replace(address, std::regex("::0:"), "::");
    const auto known = ipv4_of_.emplace(usual, found.str());
    EXPECT_EQ(known.first->second, found.str()) << "two addresses are one in IPv6";
    return usual;
  });
}

std::string Translator::back(const std::string& text) const {
  if (family_ == Family::kIpv4) return text;
  return replace_all(text, R"(IP6\b|\[?(2001:[0-9a-f:]+)\]?|::(?=\r))",
                     [&](const std::smatch& found) -> std::string {
                       if (found[1].matched) return ipv4_of_.at(found[1].str());
                       return found.str() == "IP6" ? "IP4" : "0.0.0.0";
                     });
}

void NgCourse::SetUp() { Calls::family = GetParam(); }

void NgCourse::TearDown() { Calls::family = Family::kIpv4; }

INSTANTIATE_TEST_SUITE_P(Versions, NgCourse, testing::Values(Family::kIpv4, Family::kIpv6),
                         name_of_family);

}  // namespace simco::test
