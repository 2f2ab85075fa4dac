// Session descriptions (SDP, RFC 8866) as lines: addresses and ports as views into the text, and an
// editor that replaces such views and leaves every other octet as it was.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simco/wire/ip.hpp"

namespace simco::ng {

/// An address and a UDP port.
struct TransportAddress {
  IpAddress address;
  std::uint16_t port = 0;
  friend auto operator<=>(const TransportAddress&, const TransportAddress&) = default;
};

/// An address in an SDP. `address` is nullopt for a host name and for multicast.
struct SdpAddress {
  std::string_view text;
  std::optional<IpAddress> address;
};

/// A port in an SDP.
struct SdpPort {
  std::string_view text;
  std::uint16_t port = 0;
};

/// a=rtcp (RFC 3605). Without an address, that of the medium counts.
struct SdpRtcp {
  SdpPort port;
  std::optional<SdpAddress> address;
};

/// a=candidate (RFC 8839 section 5.1).
struct SdpCandidate {
  bool rtcp = false;  ///< component 2
  SdpAddress address;
  SdpPort port;
  bool udp = false;
};

/// An m= line and its attributes.
struct SdpMedium {
  std::string_view type;      ///< such as "audio"
  std::string_view protocol;  ///< such as "RTP/AVP"
  SdpPort port;
  std::optional<SdpAddress> connection;  ///< of the medium alone
  std::optional<SdpRtcp> rtcp;
  std::string_view mid;
  bool rtcp_mux = false;       ///< RFC 5761
  bool rtcp_mux_only = false;  ///< RFC 8858
  bool ice = false;            ///< has candidates or a=ice-ufrag
  std::vector<SdpCandidate> candidates;
  std::string_view connection_place;  ///< empty: where a c= line of the medium would be
  std::string_view end;               ///< empty: where a further attribute would be
};

/// A session description. Views borrow from the text.
struct Sdp {
  std::string_view text;
  std::optional<SdpAddress> origin;      ///< o=
  std::optional<SdpAddress> connection;  ///< c= of the session
  std::vector<SdpMedium> media;
  std::vector<std::vector<std::string_view>> bundles;  ///< a=group:BUNDLE, the mids of each
  std::vector<std::string_view> ice_lines;             ///< all that ICE has, with their line ends
  std::string_view line_end = "\r\n";                  ///< of the first line

  /// Returns the address of `medium`: its own, or that of the session.
  const std::optional<SdpAddress>& connection_of(const SdpMedium& medium) const {
    return medium.connection ? medium.connection : connection;
  }
};

/// Reads an SDP. Returns an error message if an m= line cannot be read, or there are more than
/// kMediaMax media or kCandidatesMax candidates. All other lines may be anything.
std::expected<Sdp, std::string> parse_sdp(std::string_view text);

/// Replaces parts of a text.
class SdpEditor {
 public:
  explicit SdpEditor(std::string_view text) : text_(text) {}
  /// `part` is a view into the text. If it was replaced before, or lies inside a longer part that
  /// was, the other replacement counts. An empty part is an insertion; several at one place are
  /// joined.
  void replace(std::string_view part, std::string_view with);
  std::string text() const;

 private:
  struct Edit {
    std::size_t size;
    std::string with;
  };
  std::string_view text_;
  std::map<std::size_t, Edit> edits_;  ///< by offset
  std::map<std::size_t, std::string> insertions_;
};

}  // namespace simco::ng
