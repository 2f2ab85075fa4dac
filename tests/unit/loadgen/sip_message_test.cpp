// SIP by its octets: accepted messages, refused messages, and our own.
#include <gtest/gtest.h>

#include <string>

#include "loadgen/sip/compose.hpp"
#include "loadgen/sip/message.hpp"
#include "loadgen/sip/text.hpp"
#include "simco/net/frame_splitter.hpp"

namespace simco::loadgen::sip {
namespace {

/// The example of RFC 3261 24.2, with compact forms, a folded field and two Vias added.
const std::string kInvite =
    "INVITE sip:bob@biloxi.example.com SIP/2.0\r\n"
    "Via: SIP/2.0/UDP pc33.atlanta.example.com:5066;branch=z9hG4bKnashds8;rport , SIP / 2.0 / TCP "
    "first.example.com ; branch=z9hG4bK1\r\n"
    "v: SIP/2.0/UDP second.example.com;branch=z9hG4bK2\r\n"
    "Max-Forwards: 70\r\n"
    "t: Bob\r\n"
    " <sip:bob@biloxi.example.com>\r\n"
    "f: \"Alice; a\\\"b, c\" <sip:alice@atlanta.example.com>;tag=1928301774\r\n"
    "i: a84b4c76e66710\r\n"
    "CSEQ : 314159   INVITE\r\n"
    "Record-Route: <sip:p1.example.com;lr>, <sip:p2.example.com;lr>\r\n"
    "m: <sip:alice@pc33.atlanta.example.com>\r\n"
    "l: 4\r\n"
    "\r\n"
    "v=0\r";

std::string with(std::string text, const std::string& what, const std::string& instead) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), instead);
}

Fault fault_of(const std::string& text) {
  const auto message = parse_message(text);
  EXPECT_FALSE(message) << text;
  return message ? Fault::kNoStartLine : message.error();
}

std::string invite_of(const InviteWriter& writer, std::uint32_t number) {
  std::string text(writer.size(), ' ');
  writer.write(number, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(SipMessage, IsReadWithCompactFormsFoldsAndLists) {
  const std::string text = "\r\n\r\n" + kInvite + "beyond";
  const auto message = parse_message(text);
  ASSERT_TRUE(message) << to_string(message.error());
  EXPECT_TRUE(message->is_request());
  EXPECT_EQ(message->method, "INVITE");
  EXPECT_EQ(message->uri, "sip:bob@biloxi.example.com");
  EXPECT_EQ(message->via.sent_by, "pc33.atlanta.example.com:5066");
  EXPECT_EQ(message->via.branch, "z9hG4bKnashds8");
  EXPECT_EQ(message->to, "Bob\r\n <sip:bob@biloxi.example.com>");
  EXPECT_TRUE(message->from.ends_with(";tag=1928301774"));
  EXPECT_EQ(message->call_id, "a84b4c76e66710");
  EXPECT_EQ(message->cseq, 314159U);
  EXPECT_EQ(message->cseq_method, "INVITE");
  EXPECT_EQ(message->contact, "<sip:alice@pc33.atlanta.example.com>");
  EXPECT_EQ(message->body, "v=0\r");
  EXPECT_EQ(message->fields().size(), 10U);
}

TEST(SipMessage, WithoutALengthTheRestIsTheBody) {
  const auto text = with(kInvite, "l: 4\r\n", "");
  const auto message = parse_message(text);
  ASSERT_TRUE(message);
  EXPECT_EQ(message->body, "v=0\r");
}

TEST(SipMessage, ResponsesHaveAStatus) {
  const std::string rest = kInvite.substr(kInvite.find("Via"));
  const auto ringing = parse_message("SIP/2.0 180 Ringing\r\n" + rest);
  ASSERT_TRUE(ringing);
  EXPECT_EQ(ringing->status, 180);
  EXPECT_FALSE(ringing->is_request());
  EXPECT_TRUE(parse_message("sip/2.0 699 \r\n" + rest));
  for (const char* bad : {"SIP/2.0 99 x", "SIP/2.0 700 x", "SIP/2.0 1800 x", "SIP/2.0 x", "SIP/2.0",
                          "SIP/3.0 180 Ringing", "INVITE sip:b SIP/3.0", "INVITE sip:b", "INVITE",
                          "INVITE  SIP/2.0", "INVITE sip:b\nx SIP/2.0", " "}) {
    EXPECT_EQ(fault_of(bad + ("\r\n" + rest)), Fault::kNoStartLine) << bad;
  }
}

TEST(SipMessage, WhatIsWrongIsNamed) {
  EXPECT_EQ(fault_of(""), Fault::kNoHeaderEnd);
  EXPECT_EQ(fault_of("hello"), Fault::kNoHeaderEnd);
  EXPECT_EQ(fault_of(std::string(100'000, 'x')), Fault::kNoHeaderEnd);
  EXPECT_EQ(fault_of("hello\r\n\r\n"), Fault::kNoStartLine);
  for (const char* field : {"Max-Forwards: 70", "CSEQ : 314159   INVITE", "l: 4"}) {
    EXPECT_EQ(fault_of(with(kInvite, field, "no field")), Fault::kBadField) << field;
    EXPECT_EQ(fault_of(with(kInvite, field, ": no name")), Fault::kBadField) << field;
    EXPECT_EQ(fault_of(with(kInvite, field, "X: 1\nY: 2")), Fault::kBadField) << field;
    EXPECT_EQ(fault_of(with(kInvite, field, "X: 1\rY: 2")), Fault::kBadField) << field;
  }
  for (const char* field : {"t: Bob\r\n", "f: ", "i: ", "CSEQ : "}) {
    EXPECT_EQ(fault_of(with(kInvite, field, "X: ")), Fault::kMissingField) << field;
  }
  EXPECT_EQ(fault_of(with(kInvite, "314159   INVITE", "314159   ACK")), Fault::kBadField);
  EXPECT_EQ(fault_of(with(kInvite, "314159", "2147483648")), Fault::kBadField);
  EXPECT_EQ(fault_of(with(kInvite, "SIP/2.0/UDP pc33", "SIP/2.0 pc33")), Fault::kBadField);
  EXPECT_EQ(fault_of(with(kInvite, "l: 4", "l: 5")), Fault::kShortBody);
  for (const char* length : {"l: -1", "l: 65537", "l: 99999999999999999999999", "l: 4 4", "l: 0x4",
                             "l:", "l: 4\r\nContent-Length: 3"}) {
    EXPECT_EQ(fault_of(with(kInvite, "l: 4", length)), Fault::kBadLength) << length;
  }
  EXPECT_TRUE(parse_message(with(kInvite, "l: 4", "l: 4\r\nContent-Length: 4")));
}

TEST(SipMessage, HasAsManyFieldsAsFit) {
  std::string fields;
  for (std::size_t i = parse_message(kInvite)->fields().size(); i < kFieldsMax; ++i) {
    fields += "X: " + std::to_string(i) + "\r\n";
  }
  EXPECT_TRUE(parse_message(with(kInvite, "Max-Forwards", fields + "Max-Forwards")));
  fields += "X: one more\r\n";
  EXPECT_EQ(fault_of(with(kInvite, "Max-Forwards", fields + "Max-Forwards")),
            Fault::kTooManyFields);
  // A hundred thousand are more than a header has octets.
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "X: y\r\n";
  EXPECT_EQ(fault_of(with(kInvite, "Max-Forwards", many + "Max-Forwards")), Fault::kNoHeaderEnd);
}

// --- Where messages end --------------------------------------------------------------------------

TEST(SipFramer, FindsMessagesHoweverTheStreamIsCut) {
  const InviteWriter writer("TCP", 450, 7);
  std::string stream;
  for (std::uint32_t i = 0; i < 5; ++i) stream += invite_of(writer, i) + (i == 2 ? "\r\n\r\n" : "");
  stream += kInvite;
  for (const std::size_t piece : {1UZ, 2UZ, 3UZ, 7UZ, 100UZ, 449UZ, 450UZ, 451UZ, 3000UZ}) {
    net::FrameSplitter splitter(kSipFramer);
    std::vector<std::string> found;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      const auto octets = std::as_bytes(std::span(stream)).subspan(at);
      EXPECT_FALSE(splitter.feed(octets.first(std::min(piece, octets.size())), [&](auto message) {
        found.emplace_back(text_of(message));
        return true;
      }));
    }
    ASSERT_EQ(found.size(), 8U) << piece;
    EXPECT_EQ(found[0], invite_of(writer, 0));
    EXPECT_EQ(found[3], "\r\n");
    EXPECT_EQ(found[6], invite_of(writer, 4));
    EXPECT_EQ(found[7], kInvite);
    EXPECT_FALSE(splitter.mid_message());
  }
}

TEST(SipFramer, RefusesWhatHasNoEnd) {
  const auto fault = [](const std::string& text) {
    const auto size = kSipFramer.size_of(std::as_bytes(std::span(text)));
    return size ? std::string("none") : std::string(to_string(size.error()));
  };
  const std::string unknown = to_string(net::FramingError::kUnknownLength);
  const std::string impossible = to_string(net::FramingError::kImpossibleLength);
  EXPECT_EQ(fault(with(kInvite, "l: 4\r\n", "")), unknown);
  EXPECT_EQ(fault(with(kInvite, "l: 4", "l: -4")), impossible);
  EXPECT_EQ(fault(with(kInvite, "l: 4", "l: 65536")), impossible);
  EXPECT_EQ(fault("\rINVITE"), unknown);
  EXPECT_EQ(fault(std::string(kHeaderMax - 1, 'x')), "none");
  EXPECT_EQ(fault(std::string(kHeaderMax, 'x')), unknown);
  std::string many;
  while (many.size() < kHeaderMax) many += "X: y\r\n";
  EXPECT_EQ(fault(many), unknown);
}

// --- Our messages --------------------------------------------------------------------------------

TEST(InviteWriter, WritesThisInvite) {
  const InviteWriter writer("UDP", InviteWriter::size_min("UDP"), 0xABCDEF01);
  EXPECT_EQ(invite_of(writer, 0x12),
            "INVITE sip:b@b.example SIP/2.0\r\n"
            "Via: SIP/2.0/UDP a.example;rport;branch=z9hG4bKabcdef0100000012\r\n"
            "Max-Forwards: 70\r\n"
            "From: <sip:a@a.example>;tag=abcdef01\r\n"
            "To: <sip:b@b.example>\r\n"
            "Call-ID: abcdef0100000012\r\n"
            "CSeq: 1 INVITE\r\n"
            "Contact: <sip:a@a.example>\r\n"
            "Content-Type: application/sdp\r\n"
            "Content-Length: 95\r\n"
            "\r\n"
            "v=0\r\n"
            "o=a 1 1 IN IP4 192.0.2.1\r\n"
            "s=-\r\n"
            "c=IN IP4 192.0.2.1\r\n"
            "t=0 0\r\n"
            "m=audio 49170 RTP/AVP 0\r\n"
            "a=x:x\r\n");
  EXPECT_LE(InviteWriter::size_min("SCTP"), 450U);
}

TEST(InviteWriter, HasEverySizeExactly) {
  const auto least = InviteWriter::size_min("TCP");
  for (std::size_t size = least; size <= kMessageMax; size += size < least + 2000 ? 1 : 997) {
    const InviteWriter writer("TCP", size, 1);
    ASSERT_EQ(writer.size(), size);
    const auto text = invite_of(writer, 0xFFFFFFFF);
    const auto message = parse_message(text);
    ASSERT_TRUE(message) << size;
    ASSERT_EQ(kSipFramer.size_of(std::as_bytes(std::span(text))), size);
    ASSERT_EQ(call_of_request(*message), (CallId{0xFFFFFFFF, 1}));
  }
}

TEST(SipResponse, RepeatsWhatTheRequestSays) {
  const auto request = parse_message(kInvite);
  ASSERT_TRUE(request);
  const auto text = make_response(*request, {180, "Ringing", "Contact: <sip:b@b.example>\r\n"},
                                  {"192.0.2.9", 1234}, 0);
  EXPECT_EQ(text,
            "SIP/2.0 180 Ringing\r\n"
            "Via: SIP/2.0/UDP pc33.atlanta.example.com:5066;branch=z9hG4bKnashds8;rport=1234"
            ";received=192.0.2.9 , SIP / 2.0 / TCP first.example.com ; branch=z9hG4bK1\r\n"
            "Via: SIP/2.0/UDP second.example.com;branch=z9hG4bK2\r\n"
            "Record-Route: <sip:p1.example.com;lr>, <sip:p2.example.com;lr>\r\n"
            "From: \"Alice; a\\\"b, c\" <sip:alice@atlanta.example.com>;tag=1928301774\r\n"
            "To: Bob\r\n <sip:bob@biloxi.example.com>;tag=b\r\n"
            "Call-ID: a84b4c76e66710\r\n"
            "CSeq: 314159 INVITE\r\n"
            "Contact: <sip:b@b.example>\r\n"
            "Server: simco-sip/0\r\n"
            "Content-Length: 0\r\n"
            "\r\n");
  const auto longer = make_response(*request, {180, "Ringing"}, {"192.0.2.9", 1234}, 1000);
  EXPECT_EQ(longer.size(), 1000U);
  EXPECT_TRUE(parse_message(longer));
  EXPECT_FALSE(make_response(*request, {100, "Trying"}, {"x", 1}, 0).contains(";tag=b\r\n"));
}

TEST(SipResponse, SaysWhereItsRequestCameFrom) {
  const auto via_of = [](const char* via, const Source& source) {
    const auto text = with(kInvite,
                           "SIP/2.0/UDP pc33.atlanta.example.com:5066;branch="
                           "z9hG4bKnashds8;rport , SIP / 2.0 / TCP first.example.com ; "
                           "branch=z9hG4bK1",
                           via);
    const auto request = parse_message(text);
    EXPECT_TRUE(request) << via;
    const auto response = make_response(*request, {100, "Trying"}, source, 0);
    const auto begin = response.find("Via: ") + 5;
    return response.substr(begin, response.find("\r\n", begin) - begin);
  };
  EXPECT_EQ(via_of("SIP/2.0/TCP 192.0.2.9:5060;branch=z1", {"192.0.2.9", 9}),
            "SIP/2.0/TCP 192.0.2.9:5060;branch=z1");
  EXPECT_EQ(via_of("SIP/2.0/TCP 192.0.2.8;branch=z1", {"192.0.2.9", 9}),
            "SIP/2.0/TCP 192.0.2.8;branch=z1;received=192.0.2.9");
  EXPECT_EQ(via_of("SIP/2.0/TCP [2001:db8::1]:5060", {"2001:db8::1", 9}),
            "SIP/2.0/TCP [2001:db8::1]:5060");
  EXPECT_EQ(via_of("SIP/2.0/UDP a;rport=;x=y", {"192.0.2.9", 9}),
            "SIP/2.0/UDP a;rport=9;x=y;received=192.0.2.9");
}

TEST(SipAck, BelongsToItsTransactionOrGoesToTheContact) {
  const InviteWriter writer("UDP", 450, 3);
  const auto octets = invite_of(writer, 5);
  const auto invite = parse_message(octets);
  ASSERT_TRUE(invite);
  const auto busy_text = make_response(*invite, {486, "Busy Here"}, {"192.0.2.9", 9}, 0);
  const auto busy = parse_message(busy_text);
  ASSERT_TRUE(busy);
  EXPECT_EQ(call_of_response(*busy), (CallId{5, 3}));
  EXPECT_EQ(make_ack(*busy, "UDP"),
            "ACK sip:b@b.example SIP/2.0\r\n"
            "Via: SIP/2.0/UDP a.example;rport;branch=z9hG4bK0000000300000005\r\n"
            "Max-Forwards: 70\r\n"
            "From: <sip:a@a.example>;tag=00000003\r\n"
            "To: <sip:b@b.example>;tag=b\r\n"
            "Call-ID: 0000000300000005\r\n"
            "CSeq: 1 ACK\r\n"
            "Content-Length: 0\r\n"
            "\r\n");
  const auto ok_text = make_response(
      *invite,
      {200, "OK",
       "Contact: \"B\" <sip:b@192.0.2.7>;q=1\r\nRecord-Route: <sip:p1;lr>, <sip:p2;lr>\r\n"},
      {"192.0.2.9", 9}, 0);
  const auto ok = parse_message(ok_text);
  ASSERT_TRUE(ok);
  const auto ack = make_ack(*ok, "UDP");
  EXPECT_TRUE(ack.starts_with("ACK sip:b@192.0.2.7 SIP/2.0\r\n")) << ack;
  EXPECT_TRUE(ack.contains("branch=z9hG4bK0000000300000005.ack\r\n")) << ack;
  EXPECT_TRUE(ack.contains("Route: <sip:p2;lr>\r\nRoute: <sip:p1;lr>\r\n")) << ack;
  EXPECT_TRUE(parse_message(ack));
}

TEST(SipCall, IsReadOnlyFromWhatWeWrite) {
  char text[kCallTextSize];
  write_call({0x89ABCDEF, 0x01234567}, text);
  EXPECT_EQ(std::string_view(text, sizeof text), "0123456789abcdef");
  EXPECT_EQ(read_call({text, sizeof text}), (CallId{0x89ABCDEF, 0x01234567}));
  for (const char* bad : {"", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg",
                          "-123456789abcdef", "01234567 9abcdef", "0x23456789abcdef"}) {
    EXPECT_FALSE(read_call(bad)) << bad;
  }
  EXPECT_NE(run_of(1), run_of(2));
}

}  // namespace
}  // namespace simco::loadgen::sip
