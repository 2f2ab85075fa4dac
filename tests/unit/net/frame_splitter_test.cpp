#include "simco/net/frame_splitter.hpp"

#include <gtest/gtest.h>

#include "simco/binding/framer.hpp"
#include "tests/support/figures.hpp"
#include "tests/support/random_message.hpp"

namespace simco::net {
namespace {

using test::Octets;

/// Feeds `stream` in pieces of `size` and answers the messages that come out.
std::vector<Octets> split(const Octets& stream, std::size_t size, FrameSplitter& splitter) {
  std::vector<Octets> messages;
  for (std::size_t at = 0; at < stream.size(); at += size) {
    const auto piece = std::span(stream).subspan(at, std::min(size, stream.size() - at));
    const auto error = splitter.feed(piece, [&](std::span<const std::byte> message) {
      messages.emplace_back(message.begin(), message.end());
      return true;
    });
    EXPECT_FALSE(error);
  }
  return messages;
}

TEST(FrameSplitter, FindsTheSameMessagesHoweverTheStreamIsCut) {
  test::RandomMessages random(1);
  Octets stream;
  std::vector<Octets> expected;
  for (int i = 0; i < 40; ++i) {
    expected.push_back(test::encoded(random.next()));
    stream.insert(stream.end(), expected.back().begin(), expected.back().end());
  }
  for (const std::size_t size : {1U, 2U, 3U, 7U, 8U, 9U, 64U, 1000U, 65'536U, 10'000'000U}) {
    FrameSplitter splitter(kMessageFramer);
    EXPECT_EQ(split(stream, size, splitter), expected) << size;
    EXPECT_FALSE(splitter.mid_message());
    EXPECT_EQ(splitter.held(), 0U);
  }
}

TEST(FrameSplitter, KnowsWhenItIsInTheMiddle) {
  FrameSplitter splitter(kMessageFramer);
  const auto octets = test::from_hex("01 21 0008 0000000e 0005 0004 00000011");
  for (std::size_t i = 0; i < octets.size(); ++i) {
    EXPECT_EQ(splitter.mid_message(), i != 0);
    splitter.feed(std::span(octets).subspan(i, 1), [](auto) { return true; });
  }
  EXPECT_FALSE(splitter.mid_message());
}

TEST(FrameSplitter, StopsForGoodAtAnImpossibleHeader) {
  for (const std::size_t cut : {1U, 4U, 8U, 20U}) {
    FrameSplitter splitter(kMessageFramer);
    const auto octets =
        test::from_hex("01 22 0000 00000001 01 22 0002 00000002 01 22 0000 00000003");
    int messages = 0;
    std::optional<FramingError> error;
    for (std::size_t at = 0; at < octets.size() && !error; at += cut) {
      error = splitter.feed(std::span(octets).subspan(at, std::min(cut, octets.size() - at)),
                            [&](auto) { return ++messages > 0; });
    }
    EXPECT_EQ(error, FramingError::kImpossibleLength) << cut;
    EXPECT_EQ(messages, 1);
    EXPECT_TRUE(splitter.feed(octets, [&](auto) { return ++messages > 0; }));
    EXPECT_EQ(messages, 1);
  }
}

TEST(FrameSplitter, LeavesTheRestWhenTheTakerHasEnough) {
  const auto one = test::from_hex("01 22 0000 00000001");
  const auto three = test::concat({one, one, one});
  FrameSplitter splitter(kMessageFramer);
  int taken = 0;
  splitter.feed(three, [&](auto) { return ++taken < 2; });
  EXPECT_EQ(taken, 2);
  EXPECT_EQ(splitter.unread(), one.size());
  splitter.feed(std::span(three).last(splitter.unread()), [&](auto) { return ++taken < 10; });
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(splitter.unread(), 0U);
}

TEST(FrameSplitter, KeepsNoMoreThanTheHoldLimit) {
  FrameSplitter splitter(kMessageFramer);
  splitter.set_hold_limit(kSessionControlSizeMax);
  Octets octets(kMessageSizeMax);
  octets[0] = octets[1] = std::byte{1};
  octets[2] = std::byte{0xFF};
  octets[3] = std::byte{0xF8};
  std::size_t longest_held = 0;
  std::vector<std::size_t> delivered;
  for (std::size_t at = 0; at < octets.size(); at += 1000) {
    const auto piece = std::span<const std::byte>(octets).subspan(
        at, std::min<std::size_t>(1000, octets.size() - at));
    splitter.feed(piece, [&](auto message) {
      delivered.push_back(message.size());
      return true;
    });
    longest_held = std::max(longest_held, splitter.held());
  }
  EXPECT_EQ(longest_held, kSessionControlSizeMax);
  EXPECT_EQ(delivered, std::vector<std::size_t>{kSessionControlSizeMax});
  // The stream is still in step.
  EXPECT_FALSE(splitter.mid_message());
  splitter.feed(test::from_hex("01 22 0000 00000001"), [&](auto message) {
    delivered.push_back(message.size());
    return true;
  });
  EXPECT_EQ(delivered.back(), kHeaderSize);
}

}  // namespace
}  // namespace simco::net
