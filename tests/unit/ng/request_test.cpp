// Requests of the ng protocol as proxies send them.
#include "agent/ng/protocol/request.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent/ng/protocol/limits.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;

json offer() {
  return {{"command", "offer"},
          {"sdp", "v=0\r\n"},
          {"call-id", "1-23401@10.99.0.10"},
          {"from-tag", "23401SIPp"},
          {"supports", {"load limit"}}};
}

TEST(NgRequest, AnOfferOfKamailioIsRead) {
  auto dictionary = offer();
  dictionary["replace"] = {"origin", "session-connection"};
  dictionary["received-from"] = {"IP4", "10.99.0.10"};
  dictionary["direction"] = {"external", "internal"};
  dictionary["via-branch"] = "z9hG4bK1";
  dictionary["flags"] = {"trust-address", "unknown-flag"};
  dictionary["something new"] = {{"a", 1}};
  const auto request = read_request(dictionary);
  ASSERT_TRUE(request) << request.error();
  EXPECT_EQ(request->command, Command::kOffer);
  EXPECT_EQ(request->call_id, "1-23401@10.99.0.10");
  EXPECT_EQ(request->from_tag, "23401SIPp");
  EXPECT_EQ(request->via_branch, "z9hG4bK1");
  EXPECT_EQ(request->sdp, "v=0\r\n");
  EXPECT_TRUE(request->replaces_origin);
  EXPECT_EQ(request->direction, (Sides{Side::kExternal, Side::kInternal}));
  EXPECT_EQ(to_string(*request->received_from), "10.99.0.10");
  EXPECT_FALSE(request->trusts_source);
  EXPECT_EQ(request->beyond_us, "");
}

TEST(NgRequest, SpacesAndHyphensAreAlike) {
  for (const char* form : {"SIP source address", "SIP-source-address", "sip_source_address"}) {
    auto dictionary = offer();
    dictionary["flags"] = {form};
    dictionary["received from"] = {"IP6", "2001:db8::1"};
    dictionary["to tag"] = "b";
    const auto request = read_request(dictionary);
    ASSERT_TRUE(request);
    EXPECT_TRUE(request->trusts_source) << form;
    EXPECT_EQ(to_string(*request->received_from), "2001:db8::1");
    EXPECT_EQ(request->to_tag, "b");
  }
}

TEST(NgRequest, FlagsInOneStringAreRead) {
  auto dictionary = offer();
  dictionary["rtpp-flags"] =
      "replace-origin trust-address ICE=remove RTP/SAVPF via-branch=x SIP-source-address "
      "direction=internal direction=external";
  const auto request = read_request(dictionary);
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->replaces_origin && request->removes_ice && request->trusts_source);
  EXPECT_EQ(request->transport_protocol, "RTP/SAVPF");
  EXPECT_EQ(request->via_branch, "x");
  EXPECT_EQ(request->direction, (Sides{Side::kInternal, Side::kExternal}));
}

TEST(NgRequest, WhatIsMissingHasTheWordsOfRtpengine) {
  const auto error = [](json dictionary, const char* without) {
    dictionary.erase(without);
    const auto request = read_request(dictionary);
    return request ? std::string("none") : request.error();
  };
  auto answer = offer();
  answer["command"] = "answer";
  answer["to-tag"] = "b";
  EXPECT_EQ(error(offer(), "command"), "Unrecognized command");
  EXPECT_EQ(error(offer(), "sdp"), "No SDP body in message");
  EXPECT_EQ(error(offer(), "call-id"), "No call-id in message");
  EXPECT_EQ(error(offer(), "from-tag"), "No from-tag in message");
  EXPECT_EQ(error(answer, "to-tag"), "No to-tag in message");
  EXPECT_EQ(error(answer, "supports"), "none");
  EXPECT_EQ(error({{"command", "ping"}}, "x"), "none");
  EXPECT_EQ(error({{"command", "query"}, {"call-id", "x"}}, "x"), "none");
  EXPECT_EQ(error({{"command", "play media"}, {"call-id", "x"}}, "x"), "Unrecognized command");
}

TEST(NgRequest, ValuesOfOtherTypesDoNoHarm) {
  for (const json& value :
       {json(), json(7), json::array(), json::object(), json::array({1, {}}), json(-1)}) {
    for (const char* key : {"sdp", "flags", "direction", "received-from", "replace", "limit", "ICE",
                            "rtcp-mux", "rtpp-flags", "call-id", "command", "via-branch"}) {
      auto dictionary = offer();
      dictionary[key] = value;
      read_request(dictionary);
    }
  }
  auto dictionary = offer();
  dictionary["call-id"] = std::string(kIdentifierMax + 1, 'x');
  EXPECT_FALSE(read_request(dictionary));
}

// Only what a middlebox can keep is accepted.
TEST(NgRequest, DemandsThatNeedAMediaProxyAreNamed) {
  struct Row {
    const char* key;
    json value;
    const char* beyond;
  };
  const Row rows[] = {
      {"ICE", "force", "ICE=force"},
      {"ICE", "force-relay", "ICE=force-relay"},
      {"ICE", "remove", ""},
      {"ICE", "optional", ""},
      {"DTLS", "passive", "dtls=passive"},
      {"DTLS", "off", ""},
      {"SDES", json::array({"no-AES_192_CM_HMAC_SHA1_80"}), "sdes=no-aes-192-cm-hmac-sha1-80"},
      {"rtcp-mux", json::array({"demux"}), "rtcp-mux=demux"},
      {"rtcp-mux", json::array({"accept"}), ""},
      {"codec", {{"transcode", {"PCMU"}}}, "codec"},
      {"record call", "yes", "record-call"},
      {"record call", "off", ""},
      {"media-address", "192.0.2.1", "media-address"},
      {"flags", json::array({"codec-transcode-PCMA"}), "codec-transcode-pcma"},
      {"flags", json::array({"generate RTCP"}), "generate-rtcp"},
      {"flags", json::array({"trust address", "symmetric"}), ""},
  };
  for (const auto& row : rows) {
    auto dictionary = offer();
    dictionary[row.key] = row.value;
    const auto request = read_request(dictionary);
    ASSERT_TRUE(request) << row.key;
    EXPECT_EQ(request->beyond_us, row.beyond) << row.key << " " << row.value;
  }
}

}  // namespace
}  // namespace simco::ng
