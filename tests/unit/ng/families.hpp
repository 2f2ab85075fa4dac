// Tables of tests are written in IPv4, and hold for IPv6 as well.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace simco::test {

enum class Family : std::uint8_t { kIpv4, kIpv6 };

inline std::string name_of_family(const testing::TestParamInfo<Family>& family) {
  return family.param == Family::kIpv4 ? "IPv4" : "IPv6";
}

/// Gives each IPv4 address of a test an IPv6 one, which is internal if it is, and the other way
/// round, so that what is of the other version stays so.
class Translator {
 public:
  explicit Translator(Family family) : family_(family) {}

  /// Returns an SDP or an address as it is in the family.
  std::string there(const std::string& text);
  /// Returns an SDP, or rules, of the family in IPv4.
  std::string back(const std::string& text) const;

 private:
  Family family_;
  std::map<std::string, std::string> ipv4_of_;
};

/// Tests that run with both.
class NgCourse : public testing::TestWithParam<Family> {
 protected:
  void SetUp() override;
  void TearDown() override;
};

}  // namespace simco::test
