// The dictionaries of the ng protocol, in both forms.
#include "agent/ng/protocol/codec.hpp"

#include <gtest/gtest.h>

#include "agent/ng/protocol/limits.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;

TEST(NgCodec, BencodeIsDecoded) {
  const std::pair<const char*, json> rows[] = {
      {"i7e", 7},
      {"i-9223372036854775808e", std::numeric_limits<std::int64_t>::min()},
      {"0:", ""},
      {"5:a b:c", "a b:c"},
      {"le", json::array()},
      {"de", json::object()},
      {"li1e1:xdee", json::array({1, "x", json::object()})},
      {"d7:command4:ping1:ai1ee", {{"a", 1}, {"command", "ping"}}},  // keys in any order
      {"d1:b1:x1:a1:ye", {{"a", "y"}, {"b", "x"}}},
  };
  for (const auto& [text, value] : rows) {
    const auto decoded = decode_bencode(text);
    ASSERT_TRUE(decoded) << text;
    EXPECT_EQ(*decoded, value) << text;
  }
}

TEST(NgCodec, WhatIsNotBencodeIsRefused) {
  for (const char* text : {"",
                           "i",
                           "ie",
                           "i1",
                           "i 1e",
                           "i1.5e",
                           "i9223372036854775808e",
                           "3:ab",
                           "99999999999999999999:",
                           "-1:a",
                           "l",
                           "li1e",
                           "d",
                           "d1:a",
                           "d1:ae",
                           "di1ei2ee",
                           "i1ei2e",
                           "x",
                           "4:spam ",
                           "d1:ai1e"}) {
    EXPECT_FALSE(decode_bencode(text)) << text;
  }
}

TEST(NgCodec, DepthIsBounded) {
  const auto nested = [](const char* open, const char* close, std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += open;
    for (std::size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  EXPECT_TRUE(decode_bencode(nested("l", "e", kDepthMax)));
  EXPECT_FALSE(decode_bencode(nested("l", "e", kDepthMax + 1)));
  EXPECT_TRUE(decode_json(nested("[", "]", kDepthMax)));
  EXPECT_FALSE(decode_json(nested("[", "]", kDepthMax + 1)));
  EXPECT_FALSE(decode_json(nested("[", "", 60'000)));
  EXPECT_TRUE(decode_json(R"({"a":"[[[[[[[[[[[[[[[[[[[[ \" [[[["})"));
}

TEST(NgCodec, BencodeIsEncoded) {
  const json value = {
      {"result", "ok"}, {"list", {1, "two", json::array()}}, {"none", nullptr}, {"yes", true}};
  EXPECT_EQ(encode_bencode(value), "d4:listli1e3:twolee4:none0:6:result2:ok3:yesi1ee");
}

TEST(NgCodec, AnyOctetsSurvive) {
  std::string octets;
  for (int i = 0; i < 256; ++i) octets += static_cast<char>(i);
  const auto text = encode_bencode(json{{"sdp", octets}});
  const auto decoded = decode_bencode(text);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->at("sdp").get<std::string>(), octets);
}

TEST(NgCodec, DatagramsAreTakenApart) {
  const auto bencoded = read_datagram("12_34 d7:command4:pinge");
  ASSERT_TRUE(bencoded);
  EXPECT_EQ(bencoded->cookie, "12_34");
  EXPECT_EQ(bencoded->form, Form::kBencode);
  EXPECT_EQ(bencoded->dictionary, json({{"command", "ping"}}));
  const auto in_json = read_datagram(R"(c {"command": "ping"})");
  ASSERT_TRUE(in_json);
  EXPECT_EQ(in_json->form, Form::kJson);
  EXPECT_EQ(in_json->dictionary, json({{"command", "ping"}}));
}

TEST(NgCodec, WithoutCookieThereIsNoReply) {
  for (const std::string& text :
       {std::string(), std::string(" d7:command4:pinge"), std::string("cookie"),
        std::string(kCookieMax + 1, 'c') + " de"}) {
    EXPECT_FALSE(read_datagram(text)) << text;
  }
}

TEST(NgCodec, MistakesKeepTheCookie) {
  for (const char* text : {"c ", "c x", "c i1e", "c le", "c {", "c {]", "c {} {}"}) {
    const auto datagram = read_datagram(text);
    ASSERT_TRUE(datagram) << text;
    EXPECT_EQ(datagram->cookie, "c");
    EXPECT_FALSE(datagram->dictionary) << text;
  }
}

TEST(NgCodec, RepliesHaveTheFormOfTheirRequest) {
  const json reply = {{"result", "pong"}};
  EXPECT_EQ(write_datagram("c", Form::kBencode, reply), "c d6:result4:ponge");
  EXPECT_EQ(write_datagram("c", Form::kJson, reply), R"(c {"result":"pong"})");
  // Not UTF-8: cannot be JSON, and must not stop the program.
  EXPECT_TRUE(write_datagram("c", Form::kJson, {{"x", "\xff"}}).starts_with("c {\"x\":\""));
}

}  // namespace
}  // namespace simco::ng
