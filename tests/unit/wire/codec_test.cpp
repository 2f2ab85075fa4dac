#include "simco/wire/codec.hpp"

#include <gtest/gtest.h>

#include "tests/support/figures.hpp"
#include "tests/support/octets.hpp"
#include "tests/support/random_message.hpp"

namespace simco {
namespace {

using test::encoded;
using test::figure_cases;
using test::from_hex;
using test::to_hex;

TEST(Codec, RandomMessagesSurviveTheRoundTrip) {
  test::RandomMessages random(4540);
  for (int i = 0; i < 20'000; ++i) {
    const Message message = random.next();
    const auto octets = encoded(message);
    ASSERT_LE(octets.size(), kMessageSizeMax);
    const auto decoded = decode(octets);
    ASSERT_TRUE(decoded) << name_of(type_of(message.body)) << ": " << to_string(decoded.error());
    ASSERT_EQ(*decoded, message) << to_hex(octets);
  }
}

TEST(Codec, EveryTruncationIsTruncated) {
  for (const auto& figure : figure_cases()) {
    SCOPED_TRACE(figure.name);
    const auto& octets = figure.octets;
    for (std::size_t size = 0; size < octets.size(); ++size) {
      // A copy of exactly that size, so that the sanitizers see a read beyond it.
      const test::Octets cut(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(size));
      const auto decoded = decode(cut);
      ASSERT_FALSE(decoded);
      EXPECT_EQ(decoded.error(), DecodeError::kTruncated);
    }
  }
}

// With the header's length made to fit the rest, a truncation is missing or damaged attributes.
TEST(Codec, EveryShorterPayloadIsRefusedOrAnotherValidMessage) {
  for (const auto& figure : figure_cases()) {
    SCOPED_TRACE(figure.name);
    const auto& octets = figure.octets;
    for (std::size_t size = kHeaderSize; size < octets.size(); ++size) {
      test::Octets cut(octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(size));
      cut[2] = static_cast<std::byte>((size - kHeaderSize) >> 8);
      cut[3] = static_cast<std::byte>(size - kHeaderSize);
      const auto decoded = decode(cut);
      if (decoded) {
        EXPECT_EQ(to_hex(encoded(*decoded)), to_hex(cut));
      } else {
        const int step = section6_step(decoded.error());
        EXPECT_TRUE(step == 1 || step == 5) << to_string(decoded.error());
      }
    }
  }
}

TEST(Codec, OneOctetTooManyIsNoMessage) {
  for (const auto& figure : figure_cases()) {
    auto octets = figure.octets;
    octets.push_back(std::byte{0});
    const auto decoded = decode(octets);
    ASSERT_FALSE(decoded) << figure.name;
    EXPECT_EQ(decoded.error(), DecodeError::kLengthMismatch);
  }
}

/// Bits that the RFC reserves: ignored when received, sent as 0.
bool reserved_bits_only(std::span<const std::byte> a, std::span<const std::byte> b) {
  // Both decode to equal messages, so all differences were ignored.
  const auto first = decode(a);
  const auto second = decode(b);
  return first && second && *first == *second;
}

TEST(Codec, EverySingleOctetChangeIsRefusedOrRoundTrips) {
  constexpr std::size_t kShort = 200;
  for (const auto& figure : figure_cases()) {
    SCOPED_TRACE(figure.name);
    const auto& original = figure.octets;
    if (original.size() > kShort) continue;  // more of the same
    for (std::size_t at = 0; at < original.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        auto octets = original;
        octets[at] = static_cast<std::byte>(value);
        const auto decoded = decode(octets);
        if (!decoded) continue;
        const auto again = encoded(*decoded);
        ASSERT_TRUE(again == octets || reserved_bits_only(again, octets)) << to_hex(octets);
      }
    }
  }
}

struct BadCase {
  const char* name;
  const char* hex;
  DecodeError error;
};

TEST(Codec, NamesTheRuleThatIsBroken) {
  const BadCase cases[] = {
      {"length 1", "01 22 0001 00000001 00", DecodeError::kImpossibleLength},
      {"length 3", "01 22 0003 00000001 000000", DecodeError::kImpossibleLength},
      {"length 65529", "01 22 fff9 00000001", DecodeError::kImpossibleLength},
      {"basic type 0", "00 01 0000 00000001", DecodeError::kUndefinedBasicType},
      {"basic type 5", "05 01 0000 00000001", DecodeError::kUndefinedBasicType},
      {"PRD as request", "01 16 0000 00000001", DecodeError::kUndefinedSubType},
      {"PES as request", "01 23 0000 00000001", DecodeError::kUndefinedSubType},
      {"PEA as reply", "02 13 0000 00000001", DecodeError::kUndefinedSubType},
      {"negative reply 0x030F", "03 0f 0000 00000001", DecodeError::kUndefinedSubType},
      {"notification 4", "04 04 0000 00000001", DecodeError::kUndefinedSubType},
      {"SE without version", "01 01 0000 00000001", DecodeError::kMissingAttribute},
      {"SA reply without attributes", "02 02 0000 00000001", DecodeError::kMissingAttribute},
      {"PLC without lifetime", "01 15 0008 00000001 0005 0004 00000011",
       DecodeError::kMissingAttribute},
      {"PLC in the wrong order", "01 15 0010 00000001 0007 0004 00000011 0005 0004 00000011",
       DecodeError::kUnexpectedAttribute},
      {"PRS with two PIDs", "01 21 0010 00000001 0005 0004 00000011 0005 0004 00000012",
       DecodeError::kUnexpectedAttribute},
      {"PRL with an unknown attribute", "01 22 0004 00000001 00ff 0000",
       DecodeError::kUnexpectedAttribute},
      {"ST with a PID", "01 03 0008 00000001 0005 0004 00000011",
       DecodeError::kUnexpectedAttribute},
      {"PID of 3 octets", "01 21 0007 00000001 0005 0003 000011", DecodeError::kAttributeLength},
      {"PID that runs over the end", "01 21 0008 00000001 0005 0005 00000011",
       DecodeError::kAttributeLength},
      {"full IPv4 address of 24 octets",
       "01 14 001c 00000001 0009 0018 01 20 11 00 1388 0002 20010db8 000000000000000000000005",
       DecodeError::kAttributeLength},
      {"octets left over", "01 21 000a 00000001 0005 0004 00000011 0000",
       DecodeError::kTrailingOctets},
      {"address form 2", "01 14 0008 00000001 0009 0004 21 00 11 00", DecodeError::kAttributeValue},
      {"IP version 0", "01 14 0008 00000001 0009 0004 10 00 11 00", DecodeError::kAttributeValue},
      {"IP version 0 of a full address",
       "02 11 0028 00000001 0005 0004 00000001 0006 0004 00000001 0007 0004 00000001"
       "0009 000c 00 20 11 02 0001 0001 00000000",
       DecodeError::kAttributeValue},
      {"IP version 3", "01 14 0008 00000001 0009 0004 13 00 11 00", DecodeError::kAttributeValue},
      {"location 4", "01 14 0008 00000001 0009 0004 11 00 11 04", DecodeError::kAttributeValue},
      {"direction 0", "01 12 0008 00000001 000b 0004 00 00 0000", DecodeError::kAttributeValue},
      {"direction 4", "01 12 0008 00000001 000b 0004 00 04 0000", DecodeError::kAttributeValue},
      {"parity 1", "01 12 0008 00000001 000b 0004 01 01 0000", DecodeError::kAttributeValue},
      {"NM 00", "01 11 0008 00000001 000a 0004 00 11 0001", DecodeError::kAttributeValue},
      {"NM 11", "01 11 0008 00000001 000a 0004 c0 11 0001", DecodeError::kAttributeValue},
      {"PP 11", "01 11 0008 00000001 000a 0004 70 11 0001", DecodeError::kAttributeValue},
      {"IPi 11", "01 11 0008 00000001 000a 0004 4c 11 0001", DecodeError::kAttributeValue},
      {"IPo 11", "01 11 0008 00000001 000a 0004 43 11 0001", DecodeError::kAttributeValue},
  };
  for (const auto& bad : cases) {
    const auto decoded = decode(from_hex(bad.hex));
    ASSERT_FALSE(decoded) << bad.name;
    EXPECT_EQ(decoded.error(), bad.error) << bad.name << ": " << to_string(decoded.error());
  }
}

TEST(Codec, LongestVariablePartsFitAndNoMore) {
  const std::string longest(kAuthenticationSizeMax, 'x');
  const auto message = Message{{1}, SaRequest{Token{OctetsView::of(longest)}}};
  auto octets = encoded(message);
  EXPECT_TRUE(decode(octets));
  // One octet more, in attribute and header.
  octets.push_back(std::byte{'x'});
  octets[2] = std::byte{0x10};
  octets[3] = std::byte{0x05};
  octets[10] = std::byte{0x10};
  octets[11] = std::byte{0x01};
  const auto decoded = decode(octets);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error(), DecodeError::kAttributeLength);
}

TEST(Codec, LongestRuleListIsTheLongestMessage) {
  const Message message{{1}, PrlReply{std::vector<PolicyRuleId>(kRuleListMax, PolicyRuleId{7})}};
  const auto octets = encoded(message);
  EXPECT_EQ(octets.size(), kMessageSizeMax);
  const auto decoded = decode(octets);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, message);
}

TEST(Codec, EncodeLeavesTooSmallABufferAlone) {
  const Message message{{1}, PlcRequest{{17}, {60}}};
  const std::size_t size = encoded_size(message.body);
  for (std::size_t room = 0; room < size; ++room) {
    test::Octets buffer(room, std::byte{0xAA});
    ByteWriter out(buffer);
    EXPECT_FALSE(encode(message, out));
    EXPECT_EQ(out.written(), 0U);
    EXPECT_EQ(buffer, test::Octets(room, std::byte{0xAA}));
  }
}

TEST(ReplyCode, EveryCodeHasItsWords) {
  std::set<std::string_view> words;
  for (const auto code : kNegativeReplyCodes) words.insert(to_string(code));
  EXPECT_EQ(words.size(), kNegativeReplyCodes.size());
  EXPECT_FALSE(words.contains("undefined negative reply"));
  EXPECT_EQ(negative_reply_code(0x59), std::nullopt);
  EXPECT_EQ(negative_reply_code(0x43), NegativeReplyCode::kNoSuchRule);
}

}  // namespace
}  // namespace simco
