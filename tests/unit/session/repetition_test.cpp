// Requests that are sent again: when an agent does it, and how a middlebox knows them again.
#include <gtest/gtest.h>

#include <string>

#include "simco/session/limits.hpp"
#include "simco/session/reply_memory.hpp"
#include "simco/session/request_repeater.hpp"

namespace simco {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> octets_of(const std::string& text) {
  std::vector<std::byte> result;
  for (const char c : text) result.push_back(static_cast<std::byte>(c));
  return result;
}

std::string text_of(std::span<const std::byte> octets) {
  std::string result;
  for (const auto octet : octets) result += static_cast<char>(octet);
  return result;
}

// --- The middlebox's end -----------------------------------------------------------------------

TEST(ReplyMemory, KnowsACopyBeforeAndAfterTheReply) {
  ReplyMemory memory(10, 4);
  EXPECT_EQ(memory.recognize({5}, octets_of("request")), Recognition::kNew);
  EXPECT_EQ(memory.recognize({5}, octets_of("request")), Recognition::kUnderWay);
  memory.answered({5}, octets_of("reply"));
  EXPECT_EQ(memory.recognize({5}, octets_of("request")), Recognition::kAnswered);
  EXPECT_EQ(text_of(memory.reply({5})), "reply");
  EXPECT_EQ(memory.recognize({6}, octets_of("request")), Recognition::kNew);
  // A fault of the agent's: not what it says it is.
  EXPECT_EQ(memory.recognize({5}, octets_of("another")), Recognition::kNew);
}

TEST(ReplyMemory, CarriesOutNothingTwiceHoweverLateTheCopy) {
  constexpr std::uint32_t kStreams = 4;
  constexpr std::uint32_t kKept = 3;
  ReplyMemory memory(kKept, kStreams);
  for (std::uint32_t tid = 0; tid < 100; ++tid) {
    EXPECT_EQ(memory.recognize({tid}, octets_of("x")), Recognition::kNew);
    memory.answered({tid}, octets_of("y"));
    for (std::uint32_t copy = 0; copy <= tid; ++copy) {
      const auto expected = copy + kKept > tid ? Recognition::kAnswered : Recognition::kTooOld;
      EXPECT_EQ(memory.recognize({copy}, octets_of("x")), expected) << copy << " after " << tid;
    }
  }
}

// Streams do not wait for each other: TIDs of one may be far behind those of another.
TEST(ReplyMemory, TellsNewFromOldByTheStream) {
  ReplyMemory memory(1, 2);
  for (const std::uint32_t tid : {100U, 102U, 104U}) {
    EXPECT_EQ(memory.recognize({tid}, octets_of("x")), Recognition::kNew);
    memory.answered({tid}, octets_of("y"));
  }
  EXPECT_EQ(memory.recognize({1}, octets_of("x")), Recognition::kNew);
  EXPECT_EQ(memory.recognize({100}, octets_of("x")), Recognition::kTooOld);
  EXPECT_EQ(memory.recognize({106}, octets_of("x")), Recognition::kNew);
}

TEST(ReplyMemory, KeepsWhatIsUnderWayWhateverIsAnsweredMeanwhile) {
  ReplyMemory memory(1, 1);
  EXPECT_EQ(memory.recognize({1}, octets_of("slow")), Recognition::kNew);
  for (std::uint32_t tid = 2; tid < 50; ++tid) {
    EXPECT_EQ(memory.recognize({tid}, octets_of("x")), Recognition::kNew);
    memory.answered({tid}, octets_of("y"));
  }
  EXPECT_EQ(memory.recognize({1}, octets_of("slow")), Recognition::kUnderWay);
}

TEST(ReplyMemory, KeepsNothingLong) {
  ReplyMemory memory(10, 1);
  const std::string longer(kRepeatableMax + 1, 'x');
  EXPECT_EQ(memory.recognize({1}, octets_of(longer)), Recognition::kNew);
  EXPECT_EQ(memory.recognize({1}, octets_of(longer)), Recognition::kNew);
  EXPECT_EQ(memory.recognize({2}, octets_of("list")), Recognition::kNew);
  memory.answered({2}, octets_of(longer));
  EXPECT_EQ(memory.recognize({2}, octets_of("list")), Recognition::kNew);
  // Answers to what was never asked.
  memory.answered({77}, octets_of("y"));
  EXPECT_EQ(memory.recognize({77}, octets_of("x")), Recognition::kNew);
}

// --- The agent's end ---------------------------------------------------------------------------

class Repeater : public testing::Test {
 protected:
  void send(std::uint32_t tid, bool about_rule = false) {
    repeater.sent({tid}, octets_of("request " + std::to_string(tid)), about_rule, now);
  }
  RequestRepeater::Answer answer(std::uint32_t tid, std::uint32_t pid = 0) {
    return repeater.replied({tid}, pid == 0 ? std::nullopt : std::optional(PolicyRuleId{pid}), now);
  }
  /// Makes a round trip known.
  void measure(Instant::duration round_trip) {
    send(0);
    now += round_trip;
    answer(0);
  }
  /// What is sent again now: "request 5 on 13".
  std::vector<std::string> due() {
    std::vector<std::string> result;
    while (const auto next = repeater.take_due(now)) {
      result.push_back(text_of(next->request) + " on " + std::to_string(next->stream));
    }
    return result;
  }

  using Texts = std::vector<std::string>;
  RequestRepeater repeater{1.5, 16};
  Instant now{1h};
};

TEST_F(Repeater, RepeatsOnceAfterSoManyRoundTripsOnAnotherStream) {
  send(3);
  EXPECT_FALSE(repeater.next());  // how long a round trip takes is not known yet
  now += 20ms;
  answer(3);
  EXPECT_EQ(repeater.round_trip(), 20ms);
  send(5);
  EXPECT_EQ(repeater.next(), now + 30ms);
  now += 29ms;
  EXPECT_EQ(due(), Texts{});
  now += 1ms;
  EXPECT_EQ(due(), Texts{"request 5 on 13"});
  now += 1h;
  EXPECT_EQ(due(), Texts{});
  EXPECT_EQ(repeater.repeated(), 1U);
}

TEST_F(Repeater, LeavesWhatIsAnsweredInTime) {
  measure(20ms);
  for (const std::uint32_t tid : {1U, 2U, 3U}) send(tid);
  now += 25ms;
  answer(1);
  answer(3);
  now += 100ms;
  EXPECT_EQ(due(), Texts{"request 2 on 10"});
}

// Karn's algorithm: which copy was answered is not known.
TEST_F(Repeater, MeasuresNoRoundTripOfWhatWasRepeated) {
  measure(20ms);
  send(1);
  now += 30ms;
  EXPECT_EQ(due().size(), 1U);
  now += 400ms;
  EXPECT_TRUE(answer(1).first);
  EXPECT_EQ(repeater.round_trip(), 20ms);
  send(2);
  now += 28ms;
  answer(2);
  EXPECT_EQ(repeater.round_trip(), 21ms);  // 20 + (28 - 20) / 8
}

TEST_F(Repeater, DeliversTheFirstReplyOnly) {
  measure(20ms);
  send(1);
  now += 30ms;
  due();
  EXPECT_TRUE(answer(1, 77).first);
  const auto again = answer(1, 77);
  EXPECT_FALSE(again.first);
  EXPECT_FALSE(again.stray);
  // Not of this session's requests: who knows.
  EXPECT_TRUE(answer(1234).first);
}

TEST_F(Repeater, EndsARuleThatWasMadeTwiceAndRepeatsNothingMore) {
  measure(20ms);
  send(1);
  send(2);
  now += 30ms;
  EXPECT_EQ(due().size(), 2U);
  send(3);
  answer(1, 77);
  EXPECT_EQ(answer(1, 78).stray, PolicyRuleId{78});
  answer(2, 80);
  EXPECT_EQ(answer(2, 79).stray, PolicyRuleId{79});
  EXPECT_EQ(repeater.strays(), 2U);
  send(4);
  now += 1h;
  EXPECT_EQ(due(), Texts{});
}

// A copy of the second request about a rule could overtake the first one, which is lost.
TEST_F(Repeater, LetsNoRequestAboutARuleOvertakeAnother) {
  measure(20ms);
  send(1, true);
  send(17, true);   // the same stream
  send(33, false);  // makes a rule of its own
  now += 30ms;
  EXPECT_EQ(due(), (Texts{"request 1 on 9", "request 33 on 9"}));
  answer(1);
  answer(17);
  answer(33);
  send(49, true);
  now += 1h;
  EXPECT_EQ(due(), Texts{"request 49 on 9"});
}

TEST_F(Repeater, GivesASlowMiddleboxNoFurtherLoad) {
  measure(20ms);
  constexpr std::uint32_t kRequests = 10'000;
  for (std::uint32_t i = 1; i <= kRequests; ++i) {
    send(i);
    now += 1s;
    due();
  }
  EXPECT_LE(repeater.repeated(), kRepeatBurst + kRequests / kRequestsPerRepeat);
  EXPECT_GE(repeater.repeated(), kRequests / kRequestsPerRepeat);
}

TEST_F(Repeater, HasBounds) {
  measure(10us);
  send(1);
  EXPECT_EQ(repeater.next(), now + kRepeatAfterMin);
  for (std::uint32_t i = 2; i <= kRepeaterRequestsMax; ++i) send(i);
  EXPECT_TRUE(repeater.next());
  send(kRepeaterRequestsMax + 1);
  EXPECT_FALSE(repeater.next());
  EXPECT_TRUE(answer(kRepeaterRequestsMax + 1).first);
}

TEST_F(Repeater, RepeatsNothingWithoutASecondStream) {
  repeater = RequestRepeater(1.5, 1);
  measure(20ms);
  send(1);
  now += 1h;
  EXPECT_EQ(due(), Texts{});
}

TEST_F(Repeater, RepeatsNothingLong) {
  measure(20ms);
  repeater.sent({1}, octets_of(std::string(kRepeatableMax + 1, 'x')), false, now);
  now += 1h;
  EXPECT_EQ(due(), Texts{});
}

}  // namespace
}  // namespace simco
