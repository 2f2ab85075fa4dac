// Which rules two parties need: the cases of an offer and an answer as tables.
#include "agent/ng/call/media.hpp"

#include <gtest/gtest.h>

#include "simco/wire/tuple_text.hpp"
#include "tests/unit/ng/families.hpp"

namespace simco::ng {
namespace {

test::Translator translator(test::Family::kIpv4);

/// With addresses of both versions.
class NgMedia : public testing::TestWithParam<test::Family> {
 protected:
  void SetUp() override { translator = test::Translator(GetParam()); }
  void TearDown() override { translator = test::Translator(test::Family::kIpv4); }
};
INSTANTIATE_TEST_SUITE_P(Versions, NgMedia,
                         testing::Values(test::Family::kIpv4, test::Family::kIpv6),
                         test::name_of_family);

/// A line of attributes is appended to each medium.
struct Party {
  std::string address;
  std::string media;  ///< lines of the media, with '|' for a line end
  bool trusts_source = false;
  std::string source = {};

  Description description(const Description* before = nullptr) const {
    std::string text = "v=0\r\nc=IN IP4 " + address + "\r\n";
    for (const char c : media) text += c == '|' ? std::string("\r\n") : std::string(1, c);
    text = translator.there(text);
    const auto sdp = parse_sdp(text);
    EXPECT_TRUE(sdp) << text;
    Request request;
    request.trusts_source = trusts_source;
    if (!source.empty()) request.received_from = parse_address(translator.there(source));
    return describe(*sdp, request, before);
  }
};

const MediaRules kRules{{*parse_prefix("10.0.0.0/8"), *parse_prefix("2001:db8:1::/48")}, false};

std::string text_of(const std::vector<NeededRule>& rules) {
  std::string result;
  for (const auto& rule : rules) result += (result.empty() ? "" : "; ") + to_string(rule);
  return translator.back(result);
}

std::string rules_between(const Party& offerer, const Party& answerer,
                          std::optional<Sides> sides = {},
                          const std::vector<InternalPorts>& bound = {}) {
  const auto offer = offerer.description();
  const auto answer = answerer.description();
  Pairing pairing{offer, answer, {}, {}};
  if (sides) {
    pairing.offerer = sides->from;
    pairing.answerer = sides->to;
  }
  return text_of(needed_rules(pairing, kRules, bound));
}

const std::string kAudio = "m=audio 6000 RTP/AVP 0";

TEST_P(NgMedia, RtpAndRtcp) {
  struct Row {
    const char* inside;
    const char* outside;
    const char* rules;
  };
  const Row rows[] = {
      {"m=audio 6000 RTP/AVP 0", "m=audio 7000 RTP/AVP 0", "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2"},
      // RTCP elsewhere on one side: a rule each.
      {"m=audio 6000 RTP/AVP 0", "m=audio 7000 RTP/AVP 0|a=rtcp:7005",
       "10.0.0.5:6000 <-> 192.0.2.7:7000; 10.0.0.5:6001 <-> 192.0.2.7:7005"},
      {"m=audio 6000 RTP/AVP 0|a=rtcp:6100 IN IP4 10.0.0.6", "m=audio 7000 RTP/AVP 0|a=rtcp:7001",
       "10.0.0.5:6000 <-> 192.0.2.7:7000; 10.0.0.6:6100 <-> 192.0.2.7:7001"},
      // Multiplexed only if both say so.
      {"m=audio 6000 RTP/AVP 0|a=rtcp-mux", "m=audio 7000 RTP/AVP 0|a=rtcp-mux",
       "10.0.0.5:6000 <-> 192.0.2.7:7000"},
      {"m=audio 6000 RTP/AVP 0|a=rtcp-mux", "m=audio 7000 RTP/AVP 0",
       "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2"},
      {"m=audio 6000 RTP/AVP 0|a=rtcp-mux-only", "m=audio 7000 RTP/AVP 0|a=rtcp-mux",
       "10.0.0.5:6000 <-> 192.0.2.7:7000"},
      // Not RTP: one port.
      {"m=image 6000 udptl t38", "m=image 7000 udptl t38", "10.0.0.5:6000 <-> 192.0.2.7:7000"},
      {"m=application 6000 UDP/DTLS/SCTP webrtc-datachannel",
       "m=application 7000 UDP/DTLS/SCTP webrtc-datachannel", "10.0.0.5:6000 <-> 192.0.2.7:7000"},
      {"m=audio 6000 UDP/TLS/RTP/SAVPF 0", "m=audio 7000 UDP/TLS/RTP/SAVPF 0",
       "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2"},
      // Nothing.
      {"m=message 6000 TCP/MSRP *", "m=message 7000 TCP/MSRP *", ""},
      {"m=audio 6000 TCP/RTP/AVP 0", "m=audio 7000 TCP/RTP/AVP 0", ""},
      {"m=audio 6000 RTP/AVP 0", "m=audio 0 RTP/AVP 0", ""},
      {"m=audio 0 RTP/AVP 0", "m=audio 7000 RTP/AVP 0", ""},
      {"m=audio 6000 RTP/AVP 0", "m=audio 7000 RTP/AVP 0|c=IN IP4 phone.example.com", ""},
      {"m=audio 6000 RTP/AVP 0", "m=audio 7000 RTP/AVP 0|c=IN IP4 10.0.0.9", ""},
      {"m=audio 6000 RTP/AVP 0", "m=audio 7000 RTP/AVP 0|c=IN IP6 2001:db8:2::1", ""},
      {"m=audio 6000 RTP/AVP 0", "m=audio 7000 RTP/AVP 0|c=IN IP4 224.1.1.1/127", ""},
      // Two media, and one that is refused.
      {"m=audio 6000 RTP/AVP 0|m=video 6002 RTP/AVP 31",
       "m=audio 7000 RTP/AVP 0|m=video 0 RTP/AVP 31", "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2"},
      {"m=audio 6000 RTP/AVP 0|m=video 6002 RTP/AVP 31",
       "m=audio 7000 RTP/AVP 0|m=video 7010 RTP/AVP 31",
       "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2; 10.0.0.5:6002/2 <-> 192.0.2.7:7010/2"},
  };
  for (const auto& row : rows) {
    const Party inside{"10.0.0.5", row.inside};
    const Party outside{"192.0.2.7", row.outside};
    EXPECT_EQ(rules_between(inside, outside), row.rules) << row.inside << "\n" << row.outside;
    EXPECT_EQ(rules_between(outside, inside), row.rules) << row.inside << "\n" << row.outside;
  }
}

TEST_P(NgMedia, DirectionCountsMoreThanAddresses) {
  const Party a{"10.0.0.5", kAudio};
  const Party b{"10.0.0.9", "m=audio 7000 RTP/AVP 0"};
  using enum Side;
  EXPECT_EQ(rules_between(a, b), "");
  EXPECT_EQ(rules_between(a, b, Sides{kInternal, kExternal}),
            "10.0.0.5:6000/2 <-> 10.0.0.9:7000/2");
  EXPECT_EQ(rules_between(a, b, Sides{kExternal, kInternal}),
            "10.0.0.9:7000/2 <-> 10.0.0.5:6000/2");
  const Party outside{"192.0.2.7", "m=audio 7000 RTP/AVP 0"};
  EXPECT_EQ(rules_between(a, outside, Sides{kInternal, kInternal}), "");
}

TEST_P(NgMedia, BundledMediaShareARule) {
  const auto media = [](int audio, int video) {
    return "a=group:BUNDLE 0 1|m=audio " + std::to_string(audio) +
           " RTP/SAVPF 0|a=mid:0|a=rtcp-mux|m=video " + std::to_string(video) +
           " RTP/SAVPF 96|a=mid:1|a=rtcp-mux";
  };
  // The offer still has a port for each, the answer one for both.
  EXPECT_EQ(rules_between({"10.0.0.5", media(6000, 6002)}, {"192.0.2.7", media(7000, 7000)}),
            "10.0.0.5:6000 <-> 192.0.2.7:7000");
  EXPECT_EQ(rules_between({"192.0.2.7", media(7000, 7002)}, {"10.0.0.5", media(6000, 6000)}),
            "10.0.0.5:6000 <-> 192.0.2.7:7000");
  // Not bundled by the answer: each has its own.
  const std::string apart =
      "m=audio 7000 RTP/SAVPF 0|a=rtcp-mux|m=video 7002 RTP/SAVPF 96|a=rtcp-mux";
  EXPECT_EQ(rules_between({"10.0.0.5", media(6000, 6002)}, {"192.0.2.7", apart}),
            "10.0.0.5:6000 <-> 192.0.2.7:7000; 10.0.0.5:6002 <-> 192.0.2.7:7002");
}

// An external party that is not where its SDP says.
TEST_P(NgMedia, TheSourceOfSipCounts) {
  const Party inside{"10.0.0.5", kAudio};
  const std::string media = "m=audio 7000 RTP/AVP 0";
  EXPECT_EQ(rules_between(inside, {"192.168.1.2", media, true, "203.0.113.9"}),
            "10.0.0.5:6000/2 <- 203.0.113.9; 10.0.0.5:6000/2 -> 203.0.113.9");
  EXPECT_EQ(rules_between({"192.168.1.2", media, true, "203.0.113.9"}, inside),
            "10.0.0.5:6000/2 <- 203.0.113.9; 10.0.0.5:6000/2 -> 203.0.113.9");
  // The same address, or not trusted: exact.
  EXPECT_EQ(rules_between(inside, {"192.0.2.7", media, true, "192.0.2.7"}),
            "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2");
  EXPECT_EQ(rules_between(inside, {"192.0.2.7", media, false, "203.0.113.9"}),
            "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2");
  // Its SDP has an address like ours, its SIP does not.
  EXPECT_EQ(rules_between(inside, {"10.0.0.77", media, true, "203.0.113.9"}),
            "10.0.0.5:6000/2 <- 203.0.113.9; 10.0.0.5:6000/2 -> 203.0.113.9");
}

TEST_P(NgMedia, CandidatesAreOpened) {
  const auto media = [](int port, const std::string& candidates) {
    return "m=audio " + std::to_string(port) + " RTP/AVP 0|a=ice-ufrag:x" + candidates;
  };
  const std::string host =
      "|a=candidate:1 1 UDP 1 10.0.0.5 6000 typ host"
      "|a=candidate:1 2 UDP 1 10.0.0.5 6001 typ host";
  const std::string two =
      "|a=candidate:1 1 UDP 1 192.0.2.7 7000 typ host"
      "|a=candidate:2 1 UDP 1 198.51.100.4 40000 typ relay"
      "|a=candidate:3 1 TCP 1 198.51.100.5 9 typ host"
      "|a=candidate:4 1 UDP 1 10.0.0.66 7000 typ host"
      "|a=candidate:5 1 UDP 1 2001:db8:2::7 7000 typ host";
  EXPECT_EQ(rules_between({"10.0.0.5", media(6000, host)}, {"192.0.2.7", media(7000, two)}),
            "10.0.0.5:6000/2 <- 192.0.2.7; 10.0.0.5:6000/2 -> 192.0.2.7; "
            "10.0.0.5:6000/2 <- 198.51.100.4; 10.0.0.5:6000/2 -> 198.51.100.4");
  // Only one of them has ICE: it is not used.
  EXPECT_EQ(rules_between({"10.0.0.5", kAudio}, {"192.0.2.7", media(7000, two)}),
            "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2");
  // A second address of the internal party.
  EXPECT_EQ(
      rules_between({"10.0.0.5", media(6000, "|a=candidate:1 1 UDP 1 10.0.0.8 6500 typ host")},
                    {"192.0.2.7", media(7000, "")}),
      "10.0.0.5:6000/2 <- 192.0.2.7; 10.0.0.5:6000/2 -> 192.0.2.7; "
      "10.0.0.8:6500 <- 192.0.2.7; 10.0.0.8:6500 -> 192.0.2.7");
}

// Any port of the peer, but only the one of ours that is used.
TEST_P(NgMedia, MultiplexedRtcpHasNoPortOfItsOwn) {
  const std::string mux = "|a=rtcp-mux|a=ice-ufrag:x";
  const std::string host =
      "|a=candidate:1 1 UDP 1 10.0.0.5 6000 typ host"
      "|a=candidate:1 2 UDP 1 10.0.0.5 6001 typ host";
  const std::string outside = "m=audio 7000 RTP/AVP 0";
  const Party ice{"10.0.0.5", kAudio + mux + host};
  const std::string one = "10.0.0.5:6000 <- 192.0.2.7; 10.0.0.5:6000 -> 192.0.2.7";
  const std::string two = "10.0.0.5:6000/2 <- 192.0.2.7; 10.0.0.5:6000/2 -> 192.0.2.7";
  EXPECT_EQ(rules_between(ice, {"192.0.2.7", outside + mux}), one);
  EXPECT_EQ(rules_between({"192.0.2.7", outside + mux}, ice), one);
  EXPECT_EQ(rules_between(ice, {"192.0.2.7", outside + "|a=ice-ufrag:x"}), two);
  EXPECT_EQ(rules_between({"10.0.0.5", kAudio + "|a=rtcp-mux"},
                          {"192.168.1.2", outside + "|a=rtcp-mux", true, "192.0.2.7"}),
            one);
  // A NAT has reserved two, which share the binding.
  const auto reserved = ports_to_reserve(ice.description(), {}, kRules, {});
  EXPECT_EQ(rules_between(ice, {"192.0.2.7", outside + mux}, {}, reserved), two);
}

// As browsers write a=rtcp: it says no place, and opens none.
TEST_P(NgMedia, APlaceholderForRtcpOpensNothing) {
  const auto media = [](int port, const std::string& attributes) {
    return "m=audio " + std::to_string(port) + " UDP/TLS/RTP/SAVPF 111|" + attributes;
  };
  const std::string unspecified = "a=rtcp:9 IN IP4 0.0.0.0";
  const std::string host = "|a=ice-ufrag:x|a=candidate:1 1 udp 1 10.0.0.5 53991 typ host";
  const std::string answer = "a=ice-ufrag:y|a=candidate:1 1 udp 1 192.0.2.7 7000 typ host|";
  const Party muxed{"10.0.0.5", media(53991, unspecified + "|a=rtcp-mux" + host)};
  EXPECT_FALSE(kRules.fault(muxed.description(), {}, {}));
  EXPECT_EQ(rules_between(muxed, {"192.0.2.7", media(7000, answer + unspecified + "|a=rtcp-mux")}),
            "10.0.0.5:53991 <- 192.0.2.7; 10.0.0.5:53991 -> 192.0.2.7");
  // Not multiplexed: RTCP has a candidate, or no place at all.
  const std::string second = "|a=candidate:1 2 udp 1 10.0.0.5 53992 typ host";
  for (const auto& line : {unspecified, std::string("a=rtcp:9")}) {
    const Party pair{"10.0.0.5", media(53991, line + host + second)};
    const Party single{"10.0.0.5", media(53991, line + host)};
    EXPECT_FALSE(kRules.fault(pair.description(), {}, {})) << line;
    EXPECT_FALSE(kRules.fault(single.description(), {}, {})) << line;
    EXPECT_EQ(rules_between(pair, {"192.0.2.7", "m=audio 7000 RTP/AVP 0"}),
              "10.0.0.5:53991/2 <-> 192.0.2.7:7000/2");
    EXPECT_EQ(rules_between(single, {"192.0.2.7", "m=audio 7000 RTP/AVP 0"}),
              "10.0.0.5:53991 <-> 192.0.2.7:7000");
  }
  // Nor is there a rule to such a place outside.
  EXPECT_EQ(rules_between({"10.0.0.5", kAudio}, {"192.0.2.7", media(7000, unspecified)}),
            "10.0.0.5:6000 <-> 192.0.2.7:7000");
}

// What a STUN server or a relay has for the internal party is no port of its own.
TEST_P(NgMedia, CandidatesElsewhereOpenNothing) {
  const std::string host =
      "m=audio 6000 RTP/AVP 0|a=candidate:1 1 UDP 3 10.0.0.5 6000 typ host"
      "|a=candidate:2 1 UDP 2 203.0.113.1 6000 typ srflx raddr 10.0.0.5 rport 6000"
      "|a=candidate:3 1 UDP 1 198.51.100.4 53 typ relay raddr 10.0.0.5 rport 6000";
  const Party inside{"10.0.0.5", host};
  EXPECT_EQ(rules_between(inside, {"192.0.2.7", "m=audio 7000 RTP/AVP 0|a=ice-ufrag:x"}),
            "10.0.0.5:6000/2 <- 192.0.2.7; 10.0.0.5:6000/2 -> 192.0.2.7");
  EXPECT_EQ(ports_to_reserve(inside.description(), {}, kRules, {}).size(), 1U);
  EXPECT_FALSE(kRules.fault(inside.description(), {}, {}));
}

// On a NAT the ports that an offer has reserved are used as they are.
TEST_P(NgMedia, BoundPortsAreUsedAsTheyAre) {
  const Party inside{"10.0.0.5", kAudio + "|a=rtcp-mux"};
  const auto reserved = ports_to_reserve(inside.description(), {}, kRules, {});
  ASSERT_EQ(reserved.size(), 1U);
  EXPECT_EQ(reserved[0].count, 2);
  EXPECT_EQ(rules_between(inside, {"192.0.2.7", "m=audio 7000 RTP/AVP 0|a=rtcp-mux"}, {}, reserved),
            "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2");
  EXPECT_EQ(rules_between(inside, {"192.0.2.7", "m=audio 7000 RTP/AVP 0"}, {}, reserved),
            "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2");
  // RTCP elsewhere: each with a pair of ports around it, so that both share the binding.
  EXPECT_EQ(
      rules_between(inside, {"192.0.2.7", "m=audio 7000 RTP/AVP 0|a=rtcp:7005"}, {}, reserved),
      "10.0.0.5:6000/2 <-> 192.0.2.7:7000/2; 10.0.0.5:6000/2 <-> 192.0.2.7:7004/2");
}

TEST_P(NgMedia, PortsToReserve) {
  const auto text = [](const Party& party, std::optional<Side> said = {}) {
    std::string result;
    for (const auto& ports : ports_to_reserve(party.description(), said, kRules, {})) {
      result += to_text(tuple_of(ports)) + " ";
    }
    return translator.back(result);
  };
  EXPECT_EQ(text({"10.0.0.5", kAudio}), "10.0.0.5:6000/2 ");
  EXPECT_EQ(text({"10.0.0.5", kAudio + "|a=rtcp:6005"}), "10.0.0.5:6000 10.0.0.5:6005 ");
  EXPECT_EQ(text({"10.0.0.5", kAudio + "|a=rtcp-mux-only"}), "10.0.0.5:6000 ");
  EXPECT_EQ(text({"10.0.0.5", kAudio + "|m=video 6000 RTP/AVP 31"}), "10.0.0.5:6000/2 ");
  EXPECT_EQ(text({"192.0.2.7", kAudio}), "");
  EXPECT_EQ(text({"192.0.2.7", kAudio}, Side::kInternal), "192.0.2.7:6000/2 ");
  EXPECT_EQ(text({"10.0.0.5", kAudio}, Side::kExternal), "");
}

TEST_P(NgMedia, AHoldWithoutAddressKeepsTheAddress) {
  const auto before = Party{"10.0.0.5", kAudio}.description();
  const auto held = Party{"0.0.0.0", kAudio}.description(&before);
  EXPECT_EQ(held.media[0].media, before.media[0].media);
  EXPECT_EQ(held.media[0].rtcp, before.media[0].rtcp);
  EXPECT_FALSE((Party{"0.0.0.0", kAudio}.description().media[0].media));
}

TEST(NgMediaRules, WhatMustNotBeOpened) {
  auto strict = kRules;
  strict.strict_source = true;
  const auto fault = [](const MediaRules& rules, const Party& party, const char* from) {
    return rules.fault(party.description(), {}, parse_address(from)).value_or("none");
  };
  EXPECT_EQ(fault(kRules, {"10.0.0.5", "m=audio 1023 RTP/AVP 0"}, "10.0.0.5"),
            "Not opened: 10.0.0.5:1023, a port below 1024");
  EXPECT_EQ(fault(kRules, {"10.0.0.5", kAudio + "|a=rtcp:53"}, "10.0.0.5"),
            "Not opened: 10.0.0.5:53, a port below 1024");
  EXPECT_EQ(fault(kRules, {"192.0.2.7", "m=audio 1023 RTP/AVP 0"}, "192.0.2.7"), "none");
  EXPECT_EQ(fault(kRules, {"10.0.0.5", kAudio}, "10.0.0.6"), "none");
  EXPECT_EQ(fault(strict, {"10.0.0.5", kAudio}, "10.0.0.6"),
            "Not opened: 10.0.0.5:6000, which is not where its SIP comes from");
  EXPECT_EQ(fault(strict, {"10.0.0.5", kAudio}, "10.0.0.5"), "none");
  EXPECT_EQ(fault(strict, {"10.0.0.5", kAudio}, ""),
            "Not opened: 10.0.0.5:6000, which is not where its SIP comes from");
  EXPECT_EQ(fault(strict, {"192.0.2.7", kAudio}, "203.0.113.9"), "none");
}

}  // namespace
}  // namespace simco::ng
