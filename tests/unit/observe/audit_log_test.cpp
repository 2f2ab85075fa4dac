#include "middlebox/observe/log_lines.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "simco/wire/tuple_text.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using rule::ChangeResult;
using rule::RuleChange;
using rule::RuleKind;

AddressTuple tuple(const char* text, Location location) {
  return parse_endpoint(text)->tuple(IpVersion::kIpv4, kProtocolUdp, location);
}

RuleChange enable() {
  RuleChange change;
  auto& rule = change.after;
  rule.pid = PolicyRuleId{7};
  rule.group = GroupId{3};
  rule.owner_name = "proxy";
  rule.internal = tuple("10.0.0.5:5004/2", Location::kInternal);
  rule.external = tuple("any", Location::kExternal);
  change.lifetime = Lifetime{60};
  return change;
}

rule::Decision entry(const RuleChange& change) {
  return {change, ChangeResult::kDone, "proxy", "192.0.2.9", {}};
}

TEST(AuditLine, SaysWhoDidWhat) {
  const auto change = enable();
  EXPECT_EQ(audit_line(entry(change)),
            "audit event=enable pid=7 group=3 owner=proxy by=proxy peer=192.0.2.9 protocol=udp "
            "internal=10.0.0.5:5004/2 external=any lifetime=60 outcome=done");
}

TEST(AuditLine, HasTheAddressesOfANat) {
  auto change = enable();
  change.after.outside = tuple("198.51.100.1:40000/2", Location::kOutside);
  change.after.inside = tuple("10.9.9.9:6000", Location::kInside);
  EXPECT_TRUE(
      audit_line(entry(change)).contains(" outside=198.51.100.1:40000/2 inside=10.9.9.9:6000 "));
  change.after.kind = RuleKind::kReserve;
  EXPECT_FALSE(audit_line(entry(change)).contains("internal="));
}

TEST(AuditLine, NamesEveryEvent) {
  const auto event = [](RuleChange::Kind kind, RuleKind rule, const char* by = "proxy",
                        PolicyRuleId ended_by = {}) {
    auto change = enable();
    change.kind = kind;
    change.after.kind = rule;
    change.before = change.after;
    auto one = entry(change);
    one.by = by;
    one.ended_by = ended_by;
    const auto line = audit_line(one);
    return line.substr(12, line.find(' ', 12) - 12);
  };
  using Kind = RuleChange::Kind;
  EXPECT_EQ(event(Kind::kAdd, RuleKind::kReserve), "reserve");
  EXPECT_EQ(event(Kind::kAdd, RuleKind::kEnable), "enable");
  EXPECT_EQ(event(Kind::kAdd, RuleKind::kDisable), "disable");
  EXPECT_EQ(event(Kind::kReplace, RuleKind::kEnable), "enable-reserved");
  EXPECT_EQ(event(Kind::kSetLifetime, RuleKind::kEnable), "lifetime");
  EXPECT_EQ(event(Kind::kRemove, RuleKind::kEnable), "delete");
  EXPECT_EQ(event(Kind::kRemove, RuleKind::kEnable, ""), "expire");
  EXPECT_EQ(event(Kind::kRemove, RuleKind::kEnable, "", PolicyRuleId{5}), "disabled");
}

TEST(AuditLine, TellsWhatTheBackendRefused) {
  const auto change = enable();
  auto one = entry(change);
  one.result = ChangeResult::kRefused;
  EXPECT_TRUE(audit_line(one).ends_with(" outcome=refused-by-backend"));
  one.result = ChangeResult::kNoResources;
  EXPECT_TRUE(audit_line(one).ends_with(" outcome=no-resources"));
}

TEST(AuditLine, IsOneLineWhateverNamesHave) {
  auto change = enable();
  const auto one = entry(change);
  change.after.owner_name = "a b\n\" outcome=forged\x1b";
  const auto line = audit_line(one);
  EXPECT_TRUE(line.contains(R"(owner="a b\x0a\x22 outcome=forged\x1b" by=)")) << line;
  change.after.owner_name = "";
  EXPECT_TRUE(audit_line(one).contains("owner=\"\""));
}

struct Log {
  std::vector<std::string> lines;
  LimitedLog audit;
  RuleChange change = enable();
  explicit Log(std::uint32_t rate)
      : audit(rate, kChangesLeftOut, [this](const std::string& line) { lines.push_back(line); }) {}
  void record(int count, Instant now) {
    for (int i = 0; i < count; ++i) {
      if (audit.wants(now)) audit.write(audit_line(entry(change)));
    }
  }
};

TEST(AuditLog, CountsWhatIsTooMuch) {
  Log log(10);
  const Instant start{1h};
  log.record(25, start);
  EXPECT_EQ(log.lines.size(), 10U);
  log.record(1, start + 100ms);  // time for one
  ASSERT_EQ(log.lines.size(), 12U);
  EXPECT_EQ(log.lines[10], "audit event=left-out changes=15 limit=10/s");
  log.record(25, start + 1h);  // a long pause saves up no more than a second's
  EXPECT_EQ(log.lines.size(), 22U);
  log.audit.flush();
  EXPECT_EQ(log.lines.back(), "audit event=left-out changes=15 limit=10/s");
  log.audit.flush();
  EXPECT_EQ(log.lines.size(), 23U);
}

TEST(AuditLog, CanBeOff) {
  Log log(0);
  log.record(5, Instant{1h});
  log.audit.flush();
  EXPECT_TRUE(log.lines.empty());
}

TEST(PeerLog, WhatIsTooMuchIsCountedAndSaid) {
  std::vector<std::string> lines;
  LimitedLog log(10, kWarningsLeftOut, [&](const std::string& line) { lines.push_back(line); });
  const auto warn = [&](const std::string& peer, Instant at) {
    if (log.wants(at)) log.write(peer + ": refused");
  };
  const Instant now{1h};
  for (int i = 0; i < 1000; ++i) warn("192.0.2.1", now);
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_EQ(lines[0], "192.0.2.1: refused");
  // The number comes before the next line, or when it is asked for.
  warn("192.0.2.2", now + 1s);
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[10],
            "990 further warnings about connections were left out (more than 10 in a second)");
  EXPECT_EQ(lines[11], "192.0.2.2: refused");
  log.flush();
  EXPECT_EQ(lines.size(), 12U);
  for (int i = 0; i < 12; ++i) warn("192.0.2.1", now + 1s);
  log.flush();
  EXPECT_TRUE(lines.back().starts_with("3 further warnings"));
}

}  // namespace
}  // namespace simco::middlebox
