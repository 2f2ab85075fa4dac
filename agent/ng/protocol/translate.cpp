// Replaces internal addresses and ports by the outside ones, where an SDP has them.
#include "agent/ng/protocol/translate.hpp"

#include <string_view>

namespace simco::ng {
namespace {

class Translator {
 public:
  Translator(const Sdp& sdp, const Request& request, const OutsideOf& outside_of)
      : sdp_(sdp), request_(request), outside_of_(outside_of), editor_(sdp.text) {}

  std::string translate() {
    for (const auto& medium : sdp_.media) translate_medium(medium);
    // A c= line of the session is left to the media that need it, and gets the address of the
    // first one that was translated.
    if (for_session_) editor_.replace(sdp_.connection->text, to_string(*for_session_));
    for (const auto& medium : sdp_.media) keep_apart(medium);
    if (request_.replaces_origin && first_ && sdp_.origin && sdp_.origin->address) {
      editor_.replace(sdp_.origin->text, to_string(*first_));
    }
    if (request_.removes_ice) {
      for (const auto line : sdp_.ice_lines) editor_.replace(line, "");
    }
    return editor_.text();
  }

 private:
  std::optional<TransportAddress> media_of(const SdpMedium& medium) const {
    const auto& connection = sdp_.connection_of(medium);
    if (medium.port.port == 0 || !connection || !connection->address) return std::nullopt;
    return TransportAddress{*connection->address, medium.port.port};
  }

  void translate_medium(const SdpMedium& medium) {
    const auto internal = media_of(medium);
    const auto outside = internal ? outside_of_(*internal) : std::nullopt;
    for (const auto& candidate : medium.candidates) translate_candidate(candidate);
    if (!outside) return;
    if (!first_) first_ = outside->address;
    editor_.replace(medium.port.text, std::to_string(outside->port));
    if (medium.connection) {
      editor_.replace(medium.connection->text, to_string(outside->address));
    } else if (!for_session_) {
      for_session_ = outside->address;
    }
    translate_rtcp(medium, *internal, *outside);
  }

  void translate_candidate(const SdpCandidate& candidate) {
    if (!candidate.udp || !candidate.address.address) return;
    const auto outside = outside_of_({*candidate.address.address, candidate.port.port});
    if (!outside) return;
    editor_.replace(candidate.address.text, to_string(outside->address));
    editor_.replace(candidate.port.text, std::to_string(outside->port));
  }

  void translate_rtcp(const SdpMedium& medium, const TransportAddress& internal,
                      const TransportAddress& outside) {
    if (medium.rtcp) {
      auto rtcp = internal;
      const auto& address = medium.rtcp->address;
      if (address && !address->address) return;
      if (address) rtcp.address = *address->address;
      rtcp.port = medium.rtcp->port.port;
      const auto there = outside_of_(rtcp);
      if (!there) return;
      editor_.replace(medium.rtcp->port.text, std::to_string(there->port));
      if (address) editor_.replace(address->text, to_string(there->address));
      return;
    }
    if (medium.rtcp_mux_only || internal.port == 0xFFFF) return;
    const auto next = static_cast<std::uint16_t>(internal.port + 1);
    const auto there = outside_of_({internal.address, next});
    if (!there || there->port == outside.port + 1) return;
    insert(medium.end, "a=rtcp:" + std::to_string(there->port));
  }

  /// Gives a medium a c= line of its own if that of the session has become another's.
  void keep_apart(const SdpMedium& medium) {
    const auto internal = media_of(medium);
    if (!for_session_ || medium.connection || !internal) return;
    const auto outside = outside_of_(*internal);
    const auto address = outside ? outside->address : internal->address;
    if (address == *for_session_) return;
    const char* type = address.version == IpVersion::kIpv4 ? "IP4 " : "IP6 ";
    insert(medium.connection_place, std::string("c=IN ") + type + to_string(address));
  }

  void insert(std::string_view place, const std::string& line) {
    const bool after_a_line =
        sdp_.text.ends_with('\n') || place.data() != sdp_.text.data() + sdp_.text.size();
    const std::string end(sdp_.line_end);
    editor_.replace(place, after_a_line ? line + end : end + line);
  }

  const Sdp& sdp_;
  const Request& request_;
  const OutsideOf& outside_of_;
  SdpEditor editor_;
  std::optional<IpAddress> first_;        ///< outside address of the first translated medium
  std::optional<IpAddress> for_session_;  ///< outside address for the session's c= line
};

}  // namespace

std::string translate(const Sdp& sdp, const Request& request, const OutsideOf& outside_of) {
  return Translator(sdp, request, outside_of).translate();
}

}  // namespace simco::ng
