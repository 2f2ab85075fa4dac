#include "middlebox/observe/log_lines.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/figures.hpp"

namespace simco::middlebox {
namespace {

using namespace std::chrono_literals;
using enum NegativeReplyCode;

TEST(RefusalLine, SaysWhatWasRefusedToWhomAndWhy) {
  const Body request = test::pinhole();
  EXPECT_EQ(refusal_line({"PER", kAgentNotAuthorized, "internal 10.0.0.5 is outside 'internal'",
                          request_fields(request), "proxy", "192.0.2.9:41234"}),
            "refused PER 0x0341 agent not authorized for this transaction (internal 10.0.0.5 is "
            "outside 'internal') protocol=udp internal=10.0.0.5:5004/2 external=192.0.2.7:6000/2 "
            "lifetime=60 by=proxy peer=192.0.2.9:41234");
  EXPECT_EQ(refusal_line({"session", kLackOfResources, "", "", "", "192.0.2.9:1"}),
            "refused session 0x0321 lack of resources peer=192.0.2.9:1");
}

TEST(RefusalLine, IsOneLineWhateverTheNames) {
  EXPECT_EQ(refusal_line({"PRL", kReplyTooBig, "", "", "a\nb", "192.0.2.9:1"}),
            "refused PRL 0x0313 reply message too big by=\"a\\x0ab\" peer=192.0.2.9:1");
}

TEST(RefusalLine, HasTheFieldsOfEachRequest) {
  EXPECT_EQ(request_fields(PrsRequest{{7}}), " pid=7");
  EXPECT_EQ(request_fields(PlcRequest{{7}, {60}}), " pid=7 lifetime=60");
  EXPECT_EQ(request_fields(PrlRequest{}), "");
  PrrRequest reserve;
  reserve.parameters.protocol = kProtocolUdp;
  reserve.parameters.port_range = 2;
  reserve.group = GroupId{3};
  EXPECT_EQ(request_fields(reserve), " protocol=udp ports=2 group=3 lifetime=0");
}

TEST(RefusalLog, CountsWhatExceedsItsRate) {
  std::vector<std::string> lines;
  LimitedLog log(2, kRefusalsLeftOut, [&](const std::string& line) { lines.push_back(line); });
  const Instant now{1h};
  for (int i = 0; i < 5; ++i) {
    if (log.wants(now)) log.write("refused");
  }
  EXPECT_EQ(lines.size(), 2U);
  ASSERT_TRUE(log.wants(now + 1s));
  log.write("refused");
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[2], "3 further refusals were left out (more than 2 in a second)");
}

}  // namespace
}  // namespace simco::middlebox
