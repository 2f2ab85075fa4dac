// Reads the keys, in any order and spelling, and then checks those that a command needs.
#include "agent/ng/protocol/request.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "agent/ng/protocol/limits.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, kCommands> kCommandNames = {
    "ping", "offer", "answer", "delete", "query", "list", "statistics"};

/// Returns `word` in lower case, with hyphens for spaces and underscores.
std::string plain(std::string_view word) {
  std::string result(word);
  for (auto& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == ' ' || c == '_') c = '-';
  }
  return result;
}

/// Flags and keys that a media proxy carries out in the media that pass through it.
constexpr std::array<std::string_view, 16> kOfMediaProxies = {"codec",
                                                              "transcode",
                                                              "record-call",
                                                              "start-recording",
                                                              "always-transcode",
                                                              "media-address",
                                                              "ptime",
                                                              "t38",
                                                              "inject-dtmf",
                                                              "generate-rtcp",
                                                              "siprec",
                                                              "loop-protect-media",
                                                              "delay-buffer",
                                                              "audio-player",
                                                              "music-on-hold",
                                                              "osrtp"};

class Reader {
 public:
  std::expected<Request, std::string> read(const json& dictionary) {
    for (const auto& [key, value] : dictionary.items()) take(plain(key), value);
    // One string with all flags, which the daemon parses (`rtpp_flags`).
    if (!flags_text_.empty()) take_flags_text();
    const auto* name = std::ranges::find(kCommandNames, command_);
    if (name == kCommandNames.end()) return std::unexpected("Unrecognized command");
    request_.command = static_cast<Command>(name - kCommandNames.begin());
    if (const auto fault = check()) return std::unexpected(*fault);
    return std::move(request_);
  }

 private:
  using Fault = std::optional<std::string>;

  static std::string text_of(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.is_number_integer() ? std::to_string(value.get<std::int64_t>()) : std::string{};
  }
  /// Calls `take` with each word of a list, or with the only one.
  template <class Take>
  static void each_word(const json& value, Take take) {
    if (value.is_string()) return take(plain(value.get_ref<const std::string&>()));
    if (!value.is_array()) return;
    for (const auto& item : value) {
      if (item.is_string()) take(plain(item.get_ref<const std::string&>()));
    }
  }

  void take(const std::string& key, const json& value) {
    if (key == "command") command_ = plain(text_of(value));
    if (key == "call-id") request_.call_id = text_of(value);
    if (key == "from-tag") request_.from_tag = text_of(value);
    if (key == "to-tag") request_.to_tag = text_of(value);
    if (key == "via-branch") request_.via_branch = text_of(value);
    if (key == "sdp") request_.sdp = text_of(value);
    if (key == "rtpp-flags") flags_text_ = text_of(value);
    if (key == "limit" && value.is_number_unsigned()) request_.limit = value.get<std::size_t>();
    if (key == "limit" && value.is_number_integer() && value.get<std::int64_t>() > 0) {
      request_.limit = value.get<std::size_t>();
    }
    if (key == "direction") take_direction(value);
    if (key == "received-from") take_source(value);
    if (key == "flags") each_word(value, [this](const std::string& word) { take_flag(word); });
    if (key == "replace") each_word(value, [this](const std::string& word) { take_replace(word); });
    if (key == "ice") take_ice(plain(text_of(value)));
    if (key == "transport-protocol") request_.transport_protocol = text_of(value);
    if (key == "dtls" || key == "sdes" || key == "rtcp-mux") {
      each_word(value, [&](const std::string& word) { take_security_or_mux(key, word); });
    }
    const bool off = value == "off" || value == "no";
    if (!off && std::ranges::find(kOfMediaProxies, key) != kOfMediaProxies.end()) exceed(key);
  }

  void take_direction(const json& value) {
    if (!value.is_array() || value.size() != 2) return;
    std::array<std::optional<Side>, 2> sides;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto word = plain(text_of(value[i]));
      if (word == "internal") sides[i] = Side::kInternal;
      if (word == "external") sides[i] = Side::kExternal;
    }
    if (sides[0] && sides[1]) request_.direction = {*sides[0], *sides[1]};
  }
  void take_source(const json& value) {
    if (value.is_array() && value.size() == 2)
      request_.received_from = parse_address(text_of(value[1]));
  }
  void take_flag(const std::string& word) {
    if (word == "sip-source-address") request_.trusts_source = true;
    if (word == "fatal") request_.fatal = true;
    if (word == "force-relay") exceed(word);
    const auto name = word.substr(0, word.find('-'));
    if (std::ranges::find(kOfMediaProxies, word) != kOfMediaProxies.end() || name == "codec" ||
        name == "transcode") {
      exceed(word);
    }
    for (const std::string_view prefix : {"dtls-", "sdes-", "rtcp-mux-"}) {
      if (word.starts_with(prefix)) {
        take_security_or_mux(std::string(prefix.substr(0, prefix.size() - 1)),
                             word.substr(prefix.size()));
      }
    }
  }
  void take_replace(const std::string& word) {
    if (word == "origin") request_.replaces_origin = true;
  }
  void take_ice(const std::string& word) {
    if (word == "remove") request_.removes_ice = true;
    if (word.starts_with("force")) exceed("ICE=" + word);
  }
  /// Values that change nothing can be promised: `off` of DTLS and `accept` of RTCP multiplexing.
  void take_security_or_mux(const std::string& key, const std::string& word) {
    const bool kept = key == "rtcp-mux" ? word == "accept" : word == "off" || word == "no";
    if (!kept) exceed(key + "=" + word);
  }
  void take_flags_text() {
    std::istringstream words(flags_text_);
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      if (word.starts_with("replace-")) {
        take_replace(plain(word.substr(8)));
      } else if (word.contains("RTP/")) {
        request_.transport_protocol = word;
      } else if (equals == std::string::npos) {
        take_flag(plain(word));
      } else if (plain(word.substr(0, equals)) == "direction") {
        directions_.push_back(word.substr(equals + 1));
      } else {
        take(plain(word.substr(0, equals)), word.substr(equals + 1));
      }
    }
    if (directions_.size() == 2) take_direction(directions_);
  }
  void exceed(std::string what) {
    if (request_.beyond_us.empty()) request_.beyond_us = std::move(what);
  }

  Fault check() {
    const auto command = request_.command;
    if (command == Command::kPing || command == Command::kList || command == Command::kStatistics) {
      return std::nullopt;
    }
    for (const auto* text :
         {&request_.call_id, &request_.from_tag, &request_.to_tag, &request_.via_branch}) {
      if (text->size() > kIdentifierMax) return "Call-id, tag or branch too long";
    }
    if (request_.call_id.empty()) return "No call-id in message";
    if (command == Command::kQuery) return std::nullopt;
    const bool with_sdp = command == Command::kOffer || command == Command::kAnswer;
    if (with_sdp && request_.sdp.empty()) return "No SDP body in message";
    if (with_sdp && request_.from_tag.empty()) return "No from-tag in message";
    if (command == Command::kAnswer && request_.to_tag.empty()) return "No to-tag in message";
    return std::nullopt;
  }

  Request request_;
  std::string command_;
  std::string flags_text_;
  json directions_ = json::array();
};

}  // namespace

std::string_view name_of(Command command) {
  return kCommandNames[static_cast<std::size_t>(command)];
}

std::expected<Request, std::string> read_request(const json& dictionary) {
  return Reader().read(dictionary);
}

json error_reply(std::string_view reason) {
  return {{"result", "error"}, {"error-reason", std::string(reason)}};
}

}  // namespace simco::ng
