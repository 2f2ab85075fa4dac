// One pass over the lines. Unknown lines stay text.
#include "agent/ng/protocol/sdp.hpp"

#include <algorithm>
#include <array>

#include "agent/ng/protocol/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::ng {
namespace {

/// Takes words from a line, which single spaces separate.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view next() {
    const auto space = rest_.find(' ');
    const auto word = rest_.substr(0, space);
    rest_.remove_prefix(space == std::string_view::npos ? rest_.size() : space + 1);
    return word;
  }

 private:
  std::string_view rest_;
};

bool is_multicast(const IpAddress& address) {
  const auto first = std::to_integer<unsigned>(address.octets[0]);
  return address.version == IpVersion::kIpv4 ? first >= 224 : first == 255;
}

SdpAddress address_from(std::string_view text) {
  SdpAddress result{text, parse_address(text)};
  if (result.address && is_multicast(*result.address)) result.address.reset();
  return result;
}

/// Reads "NETTYPE ADDRTYPE ADDRESS". Returns nullopt if the network is not the Internet.
std::optional<SdpAddress> network_address(Words& words) {
  const bool internet = words.next() == "IN";
  words.next();
  const auto text = words.next();
  if (!internet || text.empty()) return std::nullopt;
  return address_from(text);
}

/// Reads a port, and stops before the "/2" of "5004/2".
std::optional<SdpPort> port_from(std::string_view text) {
  SdpPort result{text.substr(0, text.find('/')), 0};
  const auto port = parse_number<std::uint16_t>(result.text);
  if (!port) return std::nullopt;
  result.port = *port;
  return result;
}

bool same_word(std::string_view a, std::string_view lower_case) {
  return std::ranges::equal(a, lower_case, [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
  });
}

std::optional<SdpCandidate> candidate_from(std::string_view value) {
  Words words(value);
  words.next();  // foundation
  const bool rtcp = words.next() == "2";
  const bool udp = same_word(words.next(), "udp");
  words.next();  // priority
  const auto address = address_from(words.next());
  const auto port = port_from(words.next());
  if (!port) return std::nullopt;
  return SdpCandidate{rtcp, address, *port, udp};
}

bool is_ice(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "candidate", "ice-ufrag",         "ice-pwd",    "ice-options",
      "ice-lite",  "remote-candidates", "ice-pacing", "end-of-candidates"};
  return std::ranges::find(kNames, name) != kNames.end();
}

class Parser {
 public:
  explicit Parser(std::string_view text) { sdp_.text = text; }

  std::expected<Sdp, std::string> parse() {
    std::size_t at = 0;
    while (at < sdp_.text.size()) {
      const auto feed = sdp_.text.find('\n', at);
      const auto next = feed == std::string_view::npos ? sdp_.text.size() : feed + 1;
      if (!read(sdp_.text.substr(at, next - at), at == 0)) {
        return std::unexpected("Failed to parse SDP" + (why_.empty() ? "" : ": " + why_));
      }
      at = next;
    }
    for (auto& medium : sdp_.media) medium.ice |= ice_;
    return std::move(sdp_);
  }

 private:
  /// `whole` has the line end, if there is one.
  bool read(std::string_view whole, bool first) {
    auto line = whole;
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    if (first && line.size() < whole.size()) sdp_.line_end = whole.substr(line.size());
    const auto after = whole.substr(whole.size());
    if (medium_ != nullptr && !line.empty()) {
      if (line.starts_with("i=")) medium_->connection_place = after;
      medium_->end = after;
    }
    if (line.size() < 2 || line[1] != '=') return true;
    const auto value = line.substr(2);
    switch (line[0]) {
      case 'o': read_origin(value); return true;
      case 'c': read_connection(value); return true;
      case 'm': return read_medium(value, after);
      case 'a': return read_attribute(value, whole);
      default: return true;
    }
  }

  void read_origin(std::string_view value) {
    Words words(value);
    for (int i = 0; i < 3; ++i) words.next();
    if (!sdp_.origin) sdp_.origin = network_address(words);
  }

  void read_connection(std::string_view value) {
    Words words(value);
    auto& connection = medium_ == nullptr ? sdp_.connection : medium_->connection;
    if (!connection) connection = network_address(words);
  }

  bool read_medium(std::string_view value, std::string_view after) {
    if (sdp_.media.size() == kMediaMax) return fail("too many media");
    Words words(value);
    const auto type = words.next();
    const auto port = port_from(words.next());
    if (!port) return fail("an m= line without a port");
    medium_ = &sdp_.media.emplace_back();
    medium_->type = type;
    medium_->port = *port;
    medium_->protocol = words.next();
    medium_->connection_place = medium_->end = after;
    return true;
  }

  bool read_attribute(std::string_view value, std::string_view whole) {
    const auto colon = value.find(':');
    const auto name = value.substr(0, colon);
    const auto rest =
        colon == std::string_view::npos ? std::string_view{} : value.substr(colon + 1);
    if (is_ice(name)) sdp_.ice_lines.push_back(whole);
    if (medium_ != nullptr) return read_medium_attribute(name, rest);
    if (name == "group" && rest.starts_with("BUNDLE")) {
      Words words(rest);
      words.next();
      auto& bundle = sdp_.bundles.emplace_back();
      for (auto mid = words.next(); !mid.empty(); mid = words.next()) bundle.push_back(mid);
    }
    if (name == "ice-ufrag") ice_ = true;
    return true;
  }

  bool read_medium_attribute(std::string_view name, std::string_view rest) {
    if (name == "rtcp-mux") medium_->rtcp_mux = true;
    if (name == "rtcp-mux-only") medium_->rtcp_mux_only = true;
    if (name == "mid") medium_->mid = rest;
    if (name == "ice-ufrag") medium_->ice = true;
    if (name == "rtcp") {
      Words words(rest);
      const auto port = port_from(words.next());
      if (port && !medium_->rtcp) {
        medium_->rtcp = SdpRtcp{*port, network_address(words)};
      }
    }
    if (name == "candidate") {
      if (++candidates_ > kCandidatesMax) return fail("too many candidates");
      medium_->ice = true;
      if (auto candidate = candidate_from(rest)) medium_->candidates.push_back(*candidate);
    }
    return true;
  }

  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  Sdp sdp_;
  SdpMedium* medium_ = nullptr;  ///< the last one
  std::size_t candidates_ = 0;
  bool ice_ = false;  ///< all media use it
  std::string why_;
};

}  // namespace

std::expected<Sdp, std::string> parse_sdp(std::string_view text) { return Parser(text).parse(); }

void SdpEditor::replace(std::string_view part, std::string_view with) {
  const auto offset = static_cast<std::size_t>(part.data() - text_.data());
  if (part.empty()) {
    insertions_[offset] += with;
  } else {
    edits_.try_emplace(offset, Edit{part.size(), std::string(with)});
  }
}

std::string SdpEditor::text() const {
  std::string result;
  std::size_t at = 0;
  auto edit = edits_.begin();
  auto insertion = insertions_.begin();
  while (edit != edits_.end() || insertion != insertions_.end()) {
    const bool inserts =
        insertion != insertions_.end() && (edit == edits_.end() || insertion->first <= edit->first);
    const auto offset = inserts ? insertion->first : edit->first;
    if (offset < at) {  // inside a part that is replaced as a whole
      inserts ? void(++insertion) : void(++edit);
      continue;
    }
    result += text_.substr(at, offset - at);
    at = offset;
    if (inserts) {
      result += (insertion++)->second;
    } else {
      result += edit->second.with;
      at += (edit++)->second.size;
    }
  }
  return result += text_.substr(at);
}

}  // namespace simco::ng
