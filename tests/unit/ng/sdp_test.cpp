// SDPs as lines: what is read, and that nothing else changes.
#include "agent/ng/protocol/sdp.hpp"

#include <gtest/gtest.h>

#include "agent/ng/protocol/limits.hpp"

namespace simco::ng {
namespace {

const std::string kPlain =
    "v=0\r\no=user1 53655765 2353687637 IN IP4 10.99.0.10\r\ns=-\r\nc=IN IP4 10.99.0.10\r\n"
    "t=0 0\r\nm=audio 6000 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n";

TEST(NgSdp, AddressesAndPortsAreRead) {
  const auto sdp = parse_sdp(kPlain);
  ASSERT_TRUE(sdp);
  EXPECT_EQ(sdp->origin->text, "10.99.0.10");
  EXPECT_EQ(sdp->connection->text, "10.99.0.10");
  EXPECT_EQ(to_string(*sdp->connection->address), "10.99.0.10");
  ASSERT_EQ(sdp->media.size(), 1U);
  EXPECT_EQ(sdp->media[0].type, "audio");
  EXPECT_EQ(sdp->media[0].port.port, 6000);
  EXPECT_EQ(sdp->media[0].protocol, "RTP/AVP");
  EXPECT_FALSE(sdp->media[0].connection);
  EXPECT_EQ(sdp->connection_of(sdp->media[0])->text, "10.99.0.10");
  EXPECT_EQ(sdp->line_end, "\r\n");
}

TEST(NgSdp, AttributesBelongToTheirMedium) {
  const auto sdp = parse_sdp(
      "v=0\na=group:BUNDLE a v\na=ice-lite\nm=audio 5004/2 UDP/TLS/RTP/SAVPF 0\ni=title\n"
      "c=IN IP6 2001:db8::5\na=mid:a\na=rtcp-mux\na=rtcp:7001 IN IP4 192.0.2.9\n"
      "a=candidate:1 1 UDP 2130706431 192.0.2.7 5004 typ host\n"
      "a=candidate:2 1 tcp 2105524479 192.0.2.7 9 typ host tcptype active\n"
      "a=candidate:3 1 udp 1 abc.local 5004 typ host\n"
      "m=video 0 RTP/AVP 31\na=mid:v\na=rtcp-mux-only\na=ice-ufrag:x\na=end-of-candidates\n");
  ASSERT_TRUE(sdp);
  ASSERT_EQ(sdp->media.size(), 2U);
  const auto& audio = sdp->media[0];
  EXPECT_EQ(audio.port.text, "5004");
  EXPECT_EQ(to_string(*audio.connection->address), "2001:db8::5");
  EXPECT_EQ(audio.mid, "a");
  EXPECT_TRUE(audio.rtcp_mux && audio.ice && !audio.rtcp_mux_only);
  EXPECT_EQ(audio.rtcp->port.port, 7001);
  EXPECT_EQ(audio.rtcp->address->text, "192.0.2.9");
  ASSERT_EQ(audio.candidates.size(), 3U);
  EXPECT_TRUE(audio.candidates[0].udp);
  EXPECT_FALSE(audio.candidates[1].udp);
  EXPECT_FALSE(audio.candidates[2].address.address);
  EXPECT_TRUE(sdp->media[1].ice && sdp->media[1].rtcp_mux_only);
  EXPECT_EQ(sdp->media[1].port.port, 0);
  EXPECT_EQ(sdp->bundles, (std::vector<std::vector<std::string_view>>{{"a", "v"}}));
  EXPECT_EQ(sdp->ice_lines.size(), 6U);
  EXPECT_EQ(sdp->line_end, "\n");
}

TEST(NgSdp, HostNamesAndMulticastAreNoAddresses) {
  for (const char* connection : {"IN IP4 media.example.com", "IN IP4 224.2.1.1/127",
                                 "IN IP4 239.0.0.1", "IN IP6 FF15::101", "IN IP4 10.0.0.1/24"}) {
    const auto sdp = parse_sdp(std::string("c=") + connection + "\r\n");
    ASSERT_TRUE(sdp);
    ASSERT_TRUE(sdp->connection) << connection;
    EXPECT_FALSE(sdp->connection->address) << connection;
  }
  EXPECT_FALSE(parse_sdp("c=TN RFC2543 +1-201-406-4090\r\n")->connection);
  EXPECT_FALSE(parse_sdp("c=IN\r\n")->connection);
}

TEST(NgSdp, WhatCannotBeReadIsRefused) {
  for (const char* text : {"m=audio\r\n", "m=audio x RTP/AVP 0\r\n", "m=audio 65536 RTP/AVP 0\r\n",
                           "m=\r\n", "m=audio -1 RTP/AVP 0", "m=audio  5004 RTP/AVP 0"}) {
    EXPECT_FALSE(parse_sdp(text)) << text;
  }
}

TEST(NgSdp, MediaAndCandidatesAreBounded) {
  std::string media;
  for (std::size_t i = 0; i < kMediaMax; ++i) media += "m=audio 5004 RTP/AVP 0\r\n";
  EXPECT_TRUE(parse_sdp(media));
  EXPECT_FALSE(parse_sdp(media + "m=audio 5004 RTP/AVP 0\r\n"));
  std::string candidates = "m=audio 5004 RTP/AVP 0\r\n";
  for (std::size_t i = 0; i < kCandidatesMax; ++i)
    candidates += "a=candidate:1 1 UDP 1 192.0.2.7 5004\n";
  EXPECT_TRUE(parse_sdp(candidates));
  EXPECT_FALSE(parse_sdp(candidates + "a=candidate:1 1 UDP 1 192.0.2.7 5004\n"));
}

// Lines of any kind, with any line ends, come back as they were.
TEST(NgSdp, EveryOtherOctetStays) {
  for (const std::string& text :
       {kPlain, std::string("v=0\nm=audio 1 x"),
        std::string("\r\n\r\nb=TIAS:64000\r\ny=0100\r\nf=\r\n"),
        std::string("z=1\0\r\n\xff\xfe\n", 9), std::string("r=7d 1h 0 25h\nk=clear:x\ni=title\r\n"),
        std::string()}) {
    const auto sdp = parse_sdp(text);
    ASSERT_TRUE(sdp) << text;
    EXPECT_EQ(SdpEditor(sdp->text).text(), text);
  }
}

TEST(NgSdp, PartsAreReplaced) {
  const auto sdp = parse_sdp(kPlain);
  ASSERT_TRUE(sdp);
  SdpEditor editor(sdp->text);
  editor.replace(sdp->media[0].port.text, "40000");
  editor.replace(sdp->connection->text, "198.51.100.1");
  editor.replace(sdp->connection->text, "ignored");
  editor.replace(sdp->media[0].end, "a=x\r\n");
  editor.replace(sdp->media[0].end, "a=y\r\n");
  editor.replace(sdp->media[0].connection_place, "c=IN IP4 192.0.2.1\r\n");
  EXPECT_EQ(editor.text(),
            "v=0\r\no=user1 53655765 2353687637 IN IP4 10.99.0.10\r\ns=-\r\n"
            "c=IN IP4 198.51.100.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0\r\nc=IN IP4 192.0.2.1\r\n"
            "a=rtpmap:0 PCMU/8000\r\na=x\r\na=y\r\n");
}

TEST(NgSdp, PartsOfWhatIsRemovedDoNotMatter) {
  const std::string text =
      "m=audio 5004 RTP/AVP 0\r\na=candidate:1 1 UDP 1 192.0.2.7 5004\r\na=x\r\n";
  const auto sdp = parse_sdp(text);
  ASSERT_TRUE(sdp);
  SdpEditor editor(sdp->text);
  editor.replace(sdp->media[0].candidates[0].address.text, "10.0.0.1");
  for (const auto line : sdp->ice_lines) editor.replace(line, "");
  EXPECT_EQ(editor.text(), "m=audio 5004 RTP/AVP 0\r\na=x\r\n");
}

}  // namespace
}  // namespace simco::ng
