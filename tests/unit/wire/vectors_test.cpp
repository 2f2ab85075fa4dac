// The published vectors (tests/vectors/README.md) against the codec: the octets of each message
// mean the fields that stand beside them and are made from them again, and malformed messages are
// refused at the step of section 6 that the vector names.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "simco/wire/codec.hpp"
#include "tests/support/octets.hpp"

namespace simco {
namespace {

using Json = nlohmann::json;
using test::Octets;

const std::string kFolder = SIMCO_SOURCE_DIR "/tests/vectors/";

Json read(const std::filesystem::path& path) { return Json::parse(std::ifstream(path)); }

Octets octets_of(const Json& vector) {
  std::string text;
  for (const auto& line : vector.at("octets")) text += line.get<std::string>();
  return test::from_hex(text);
}

// --- Attributes as the vectors write them -------------------------------------------------------

/// The name at `value` of an enumeration whose first defined value is `first`.
template <class Enum>
std::string word(Enum value, std::initializer_list<const char*> names, int first = 0) {
  return std::data(names)[static_cast<int>(value) - first];
}

Json attribute(const char* name, Json fields) {
  fields["attribute"] = name;
  return fields;
}

Json json_of(const ProtocolVersion& version) {
  return attribute("protocol version", {{"major", version.major}, {"minor", version.minor}});
}
Json json_of(const Challenge& value) {
  return attribute("authentication challenge", {{"value", test::to_hex(value.octets)}});
}
Json json_of(const Token& value) {
  return attribute("authentication token", {{"value", test::to_hex(value.octets)}});
}
Json json_of(const Owner& value) {
  return attribute("policy rule owner", {{"value", std::string(value.text())}});
}
Json json_of(PolicyRuleId pid) {
  return attribute("policy rule identifier", {{"value", pid.value}});
}
Json json_of(GroupId group) { return attribute("group identifier", {{"value", group.value}}); }
Json json_of(Lifetime lifetime) {
  return attribute("policy rule lifetime", {{"value", lifetime.seconds}});
}

/// The names of the present attributes, in the order given.
Json names(std::initializer_list<std::pair<bool, const char*>> all) {
  Json result = Json::array();
  for (const auto& [there, name] : all) {
    if (there) result.push_back(name);
  }
  return result;
}

Json json_of(const Capabilities& c) {
  return attribute("middlebox capabilities",
                   {{"middlebox_type", names({{c.packet_filter, "packet filter"},
                                              {c.nat, "NAT"},
                                              {c.disable_rules, "PDR"},
                                              {c.twice_nat, "twice NAT"},
                                              {c.protocol_translation, "protocol translation"},
                                              {c.port_translation, "port translation"}})},
                    {"flags", names({{c.internal_wildcards, "internal address wildcards"},
                                     {c.external_wildcards, "external address wildcards"},
                                     {c.port_wildcards, "port wildcards"},
                                     {c.persistent, "persistent storage"}})},
                    {"internal_ip_versions", c.internal_versions},
                    {"external_ip_versions", c.external_versions},
                    {"max_lifetime", c.lifetime_max_s}});
}

Json json_of(const AddressTuple& tuple) {
  const bool ipv4 = tuple.ip_version == IpVersion::kIpv4;
  Json fields = {{"form", word(tuple.form, {"full addresses", "protocols only"})},
                 {"ip_version", word(tuple.ip_version, {"any", "IPv4", "IPv6"})},
                 {"prefix_length", tuple.prefix_length},
                 {"protocol", tuple.protocol},
                 {"location", word(tuple.location, {"internal", "inside", "outside", "external"})}};
  if (tuple.form == AddressForm::kFullAddress) {
    char text[INET6_ADDRSTRLEN] = {};
    inet_ntop(ipv4 ? AF_INET : AF_INET6, tuple.address.data(), text, sizeof text);
    fields["port"] = tuple.port;
    fields["port_range"] = tuple.port_range;
    fields["address"] = text;
  }
  return attribute("address tuple", fields);
}

Json json_of(const PrrParameterSet& set) {
  return attribute("PRR parameter set",
                   {{"nat_mode", word(set.nat_mode, {"traditional", "twice"}, 1)},
                    {"parity", word(set.parity, {"any", "odd", "even"})},
                    {"inside_ip_version", word(set.inside_version, {"any", "IPv4", "IPv6"})},
                    {"outside_ip_version", word(set.outside_version, {"any", "IPv4", "IPv6"})},
                    {"protocol", set.protocol},
                    {"port_range", set.port_range}});
}

Json json_of(const PerParameterSet& set) {
  return attribute(
      "PER parameter set",
      {{"parity", set.parity == PortParity::kAny ? "any" : "same"},
       {"direction", word(set.direction, {"inbound", "outbound", "bi-directional"}, 1)}});
}

// --- Messages -----------------------------------------------------------------------------------

template <class T>
void append(Json& list, const T& value) {
  list.push_back(json_of(value));
}
template <class T>
void append(Json& list, const std::optional<T>& value) {
  if (value) append(list, *value);
}
template <class T>
void append(Json& list, const std::vector<T>& values) {
  for (const auto& value : values) append(list, value);
}

Json json_of(const Message& message) {
  Json result = {{"tid", message.tid.value}, {"attributes", Json::array()}};
  std::visit(
      [&]<class Body>(const Body& body) {
        auto& attributes = result["attributes"];
        if constexpr (std::is_same_v<Body, NegativeReply>) {
          char code[8];
          std::snprintf(code, sizeof code, "0x03%02x", static_cast<unsigned>(body.code));
          result["message"] = "negative reply";
          result["code"] = code;
          append(attributes, body.version);
        } else {
          result["message"] = name_of(Body::kType);
          std::apply([&](auto... member) { (append(attributes, body.*member), ...); },
                     Body::kAttributes);
        }
      },
      message.body);
  return result;
}

/// The fields of a vector with the names that name_of() has; the RFC's words for a code are left
/// out.
Json expected(const Json& vector) {
  auto message = vector.at("message");
  message.erase("meaning");
  auto name = message.at("message").get<std::string>();
  if (const auto at = name.find(" positive"); at != std::string::npos) name.erase(at, 9);
  message["message"] = name;
  return message;
}

/// The subject of `vector`: the index of its body, and the code of a negative reply.
void check(const Json& vector, std::set<std::size_t>& bodies, std::set<std::string>& codes) {
  const auto octets = octets_of(vector);
  const auto decoded = decode(octets);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(json_of(*decoded), expected(vector));
  if (vector.value("reserved_bits_set", false)) {
    EXPECT_NE(test::to_hex(test::encoded(*decoded)), test::to_hex(octets));
    EXPECT_EQ(decode(test::encoded(*decoded)), *decoded);
  } else {
    EXPECT_EQ(test::to_hex(test::encoded(*decoded)), test::to_hex(octets));
  }
  bodies.insert(decoded->body.index());
  codes.insert(vector.at("message").value("code", ""));
}

std::set<std::string> all_codes() {
  std::set<std::string> result = {""};  // messages that are no negative reply
  for (const auto code : kNegativeReplyCodes) {
    result.insert(json_of(Message{{}, NegativeReply{code, {}}}).at("code"));
  }
  return result;
}

TEST(Vectors, EveryMessageMeansItsFieldsAndIsMadeFromThemAgain) {
  std::set<std::size_t> bodies;
  std::set<std::string> codes;
  for (const auto& vector : read(kFolder + "messages.json")) {
    SCOPED_TRACE(vector.at("name"));
    check(vector, bodies, codes);
  }
  EXPECT_EQ(bodies.size(), std::variant_size_v<AnyBody>);
  EXPECT_EQ(codes, all_codes());
}

TEST(Vectors, EveryStepOfTheTranscriptsToo) {
  std::set<std::size_t> bodies;
  std::set<std::string> codes;
  for (const auto& file : std::filesystem::directory_iterator(kFolder + "transcripts")) {
    const auto transcript = read(file.path());
    SCOPED_TRACE(transcript.at("name"));
    for (const auto& step : transcript.at("steps")) {
      if (step.contains("message")) {
        check(step, bodies, codes);
      } else if (step.contains("octets")) {
        EXPECT_FALSE(decode(octets_of(step))) << step;
      }
    }
  }
  EXPECT_EQ(codes, all_codes());
}

TEST(Vectors, WhatIsMalformedIsRefusedAtTheStepThatItBreaks) {
  std::set<int> steps;
  for (const auto& vector : read(kFolder + "malformed.json")) {
    SCOPED_TRACE(vector.at("name"));
    const auto decoded = decode(octets_of(vector));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(section6_step(decoded.error()), vector.at("step")) << to_string(decoded.error());
    steps.insert(section6_step(decoded.error()));
  }
  EXPECT_EQ(steps, (std::set{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace simco
