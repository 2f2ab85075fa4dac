// From an SDP to addresses and ports, and from two of these to rules: pairs of ports, ICE, BUNDLE,
// RTCP.
#include "agent/ng/call/media.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "agent/ng/call/limits.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco::ng {
namespace {

/// The proto field of an m= line (RFC 8866 section 5.14), word by word.
struct Protocol {
  bool udp = false;
  bool rtp = false;
};

Protocol protocol_of(std::string_view text) {
  Protocol result;
  bool tcp = false;
  while (!text.empty()) {
    const auto slash = text.find('/');
    const auto word = text.substr(0, slash);
    text.remove_prefix(slash == std::string_view::npos ? text.size() : slash + 1);
    result.rtp |= word == "RTP";
    result.udp |= word == "RTP" || word == "UDP" || word == "DTLS" || word == "udp" ||
                  word == "udptl" || word == "UDPTL";
    tcp |= word == "TCP";
  }
  if (tcp) result = {};
  return result;
}

bool is_unspecified(const IpAddress& address) {
  return std::ranges::all_of(address.octets, [](std::byte octet) { return octet == std::byte{0}; });
}

/// A port that stands for none (RFC 8840 section 4.1.1). No media use those below it either.
constexpr std::uint16_t kNoPort = 9;

/// Whether a=rtcp only fills the place of an address that it does not have, as browsers do.
bool is_placeholder(const SdpMedium& said) {
  const auto& address = said.rtcp->address;
  return (said.ice && said.rtcp->port.port == kNoPort) ||
         (address && address->address && is_unspecified(*address->address));
}

/// Returns the candidate for RTCP at the address of the media, if there is one.
std::optional<TransportAddress> rtcp_candidate(const SdpMedium& said,
                                               const TransportAddress& media) {
  for (const auto& [rtcp, address, port, udp] : said.candidates) {
    if (rtcp && udp && address.address == media.address && port.port > kNoPort) {
      return TransportAddress{media.address, port.port};
    }
  }
  return std::nullopt;
}

/// Returns where RTCP goes: to the port of a=rtcp, or the next one (RFC 3605).
std::optional<TransportAddress> rtcp_of(const SdpMedium& said, const TransportAddress& media) {
  if (said.rtcp_mux_only) return std::nullopt;
  auto result = media;
  if (said.rtcp) {
    if (is_placeholder(said)) return rtcp_candidate(said, media);
    const auto& address = said.rtcp->address;
    if (address && !address->address) return std::nullopt;
    if (address) result.address = *address->address;
    result.port = said.rtcp->port.port;
    if (result == media) return std::nullopt;  // the port of the media: multiplexed
    return result.port == 0 ? std::nullopt : std::optional(result);
  }
  if (media.port == 0xFFFF) return std::nullopt;
  ++result.port;
  return result;
}

bool next_to(const TransportAddress& media, const std::optional<TransportAddress>& rtcp) {
  return rtcp && rtcp->address == media.address && rtcp->port == media.port + 1;
}

Medium describe_medium(const Sdp& sdp, const SdpMedium& said, const Request& request) {
  const auto protocol = protocol_of(said.protocol);
  Medium result;
  result.type = said.type;
  result.protocol = said.protocol;
  result.mid = said.mid;
  result.rtp = protocol.rtp;
  result.rtcp_mux = said.rtcp_mux || said.rtcp_mux_only;
  result.rtcp_mux_only = said.rtcp_mux_only;
  result.ice = said.ice && !request.removes_ice;
  const auto& connection = sdp.connection_of(said);
  if (!protocol.udp || !connection || !connection->address) return result;
  result.media = TransportAddress{*connection->address, said.port.port};
  if (result.rtp && result.usable()) result.rtcp = rtcp_of(said, *result.media);
  if (!result.ice) return result;
  for (const auto& candidate : said.candidates) {
    // A name stands for an address that is kept secret.
    if (!candidate.udp || !candidate.address.address || candidate.port.port <= kNoPort) continue;
    result.candidates.push_back({*candidate.address.address, candidate.port.port});
  }
  return result;
}

/// Returns the ports of an internal medium: those in `bound` that it uses, and the others. RTP and
/// RTCP in a row are one entry, if `in_pairs`.
std::vector<InternalPorts> internal_ports(const Medium& medium, bool in_pairs,
                                          std::span<const InternalPorts> bound) {
  std::vector<InternalPorts> result;
  const auto add = [&](const TransportAddress& wanted, std::uint16_t count) {
    const auto covers = [&](const InternalPorts& ports) { return ports.cover(wanted); };
    if (std::ranges::any_of(result, covers)) return;
    const auto found = std::ranges::find_if(bound, covers);
    result.push_back(found != bound.end() ? *found
                                          : InternalPorts{wanted.address, wanted.port, count});
  };
  add(*medium.media, in_pairs && next_to(*medium.media, medium.rtcp) ? 2 : 1);
  if (medium.rtcp) add(*medium.rtcp, 1);
  for (const auto& candidate : medium.candidates) {
    if (candidate.address.version == medium.media->address.version) add(candidate, 1);
  }
  return result;
}

/// Collects the rules of one pairing.
class Collector {
 public:
  Collector(const MediaRules& rules, std::span<const InternalPorts> bound)
      : rules_(rules), bound_(bound) {}

  /// `source`: of the external party, see Description.
  void add(const Medium& inner, const Medium& external, const std::optional<IpAddress>& source) {
    const auto internal = rules_.inside_of(inner);
    const bool elsewhere = source && *source != external.media->address;
    const bool ice = internal.ice && external.ice;
    if (elsewhere || ice) {
      std::set<IpAddress> peers{elsewhere ? *source : external.media->address};
      if (ice) {
        for (const auto& candidate : external.candidates) {
          if (!rules_.is_internal(candidate.address)) peers.insert(candidate.address);
        }
      }
      return add_any_port(internal, internal.rtcp_mux && external.rtcp_mux, ice, peers);
    }
    if (internal.media->address.version != external.media->address.version) return;
    add_exact(internal, external);
  }
  std::vector<NeededRule> take() { return {needed_.begin(), needed_.end()}; }

 private:
  /// Bidirectional rules must be exact (0x034B), so these are two for each peer.
  void add_any_port(const Medium& internal, bool mux, bool ice, const std::set<IpAddress>& peers) {
    auto own = internal;
    if (mux && own.rtcp) {
      std::erase(own.candidates, *own.rtcp);
      own.rtcp.reset();
    }
    if (!ice) own.candidates.clear();
    for (const auto& ports : internal_ports(own, true, bound_)) {
      for (const auto& peer : peers) {
        if (peer.version != ports.address.version || is_unspecified(peer)) continue;
        insert({ports, peer, 0, Direction::kInbound, {}}, internal);
        insert({ports, peer, 0, Direction::kOutbound, {}}, internal);
      }
    }
  }

  void add_exact(const Medium& internal, const Medium& external) {
    const bool mux = internal.rtcp_mux && external.rtcp_mux;
    const bool rtcp = internal.rtp && !mux && internal.rtcp && external.rtcp;
    const auto* binding = binding_of(*internal.media);
    const bool pair = rtcp && next_to(*internal.media, internal.rtcp) &&
                      next_to(*external.media, external.rtcp) &&
                      (binding == nullptr || binding->cover(*internal.rtcp));
    add_one(internal, *internal.media, *external.media, pair ? 2 : 1);
    if (rtcp && !pair) add_one(internal, *internal.rtcp, *external.rtcp, 1);
  }

  const InternalPorts* binding_of(const TransportAddress& internal) const {
    const auto found = std::ranges::find_if(
        bound_, [&](const InternalPorts& ports) { return ports.cover(internal); });
    return found == bound_.end() ? nullptr : &*found;
  }

  /// Allows `count` ports of a medium between both. If the internal ones are bound as part of a
  /// longer range, the external ones are a range of that length around theirs, so that the binding
  /// is shared; or any port, if there is no such range.
  void add_one(const Medium& medium, const TransportAddress& internal,
               const TransportAddress& external, std::uint16_t count) {
    NeededRule rule{{internal.address, internal.port, count},
                    external.address,
                    external.port,
                    Direction::kBidirectional,
                    {}};
    if (const auto* binding = binding_of(internal)) {
      const int first = external.port - (internal.port - binding->port);
      rule.internal = *binding;
      if (first < 1 || first + binding->count - 1 > 0xFFFF) {
        rule.external_port = 0;
        rule.direction = Direction::kInbound;
        insert(rule, medium);
        rule.direction = Direction::kOutbound;
      } else {
        rule.external_port = static_cast<std::uint16_t>(first);
      }
    }
    insert(rule, medium);
  }

  /// `medium`: the internal one.
  void insert(NeededRule rule, const Medium& medium) {
    if (medium.rtcp && rule.internal.cover(*medium.rtcp)) rule.rtcp_port = medium.rtcp->port;
    needed_.insert(rule);
  }

  const MediaRules& rules_;
  std::span<const InternalPorts> bound_;
  std::set<NeededRule> needed_;
};

/// Returns for medium `index` the one whose addresses it uses: in a bundle that both parties have,
/// the first of the answer's (RFC 8843 section 7.3), else itself.
std::size_t representative(const Pairing& pairing, std::size_t index) {
  const auto& mid = pairing.answer.media[index].mid;
  const auto in = [](const std::vector<std::vector<std::string>>& bundles,
                     const std::string& word) {
    return std::ranges::find_if(bundles, [&](const auto& bundle) {
      return std::ranges::find(bundle, word) != bundle.end();
    });
  };
  if (mid.empty()) return index;
  const auto answered = in(pairing.answer.bundles, mid);
  if (answered == pairing.answer.bundles.end()) return index;
  if (in(pairing.offer.bundles, mid) == pairing.offer.bundles.end()) return index;
  const auto first = std::ranges::find(pairing.answer.media, answered->front(), &Medium::mid);
  const auto found = static_cast<std::size_t>(first - pairing.answer.media.begin());
  return found < std::min(pairing.answer.media.size(), pairing.offer.media.size()) ? found : index;
}

}  // namespace

Description describe(const Sdp& sdp, const Request& request, const Description* before) {
  Description result;
  for (const auto& said : sdp.media) {
    const auto index = result.media.size();
    auto& medium = result.media.emplace_back(describe_medium(sdp, said, request));
    if (!medium.usable() || !is_unspecified(medium.media->address)) continue;
    medium.media.reset();
    medium.rtcp.reset();
    if (before == nullptr || index >= before->media.size()) continue;
    medium.media = before->media[index].media;
    medium.rtcp = before->media[index].rtcp;
  }
  for (const auto& bundle : sdp.bundles) result.bundles.emplace_back(bundle.begin(), bundle.end());
  if (request.trusts_source) result.source = request.received_from;
  return result;
}

bool MediaRules::is_internal(const IpAddress& address) const {
  const auto host = host_prefix(address);
  return std::ranges::any_of(internal, [&](const auto& prefix) { return contains(prefix, host); });
}

Medium MediaRules::inside_of(const Medium& medium) const {
  auto result = medium;
  std::erase_if(result.candidates, [&](const TransportAddress& candidate) {
    return candidate.address != medium.media->address && !is_internal(candidate.address);
  });
  return result;
}

Side MediaRules::side_of(const Description& description, const Medium& medium,
                         std::optional<Side> said) const {
  if (said) return *said;
  return is_internal(description.source.value_or(medium.media->address)) ? Side::kInternal
                                                                         : Side::kExternal;
}

std::optional<std::string> MediaRules::fault(const Description& description,
                                             std::optional<Side> said,
                                             const std::optional<IpAddress>& received_from) const {
  for (const auto& medium : description.media) {
    if (!medium.usable() || side_of(description, medium, said) == Side::kExternal) continue;
    for (const auto& ports : internal_ports(inside_of(medium), false, {})) {
      if (ports.port < kInternalPortMin) {
        return fmt::format("Not opened: {}, a port below {}", to_text(tuple_of(ports)),
                           kInternalPortMin);
      }
      if (strict_source && received_from != ports.address) {
        return fmt::format("Not opened: {}, which is not where its SIP comes from",
                           to_text(tuple_of(ports)));
      }
    }
  }
  return std::nullopt;
}

AddressTuple tuple_of(const InternalPorts& ports) {
  return Endpoint{host_prefix(ports.address), ports.port, ports.count}.tuple(
      ports.address.version, kProtocolUdp, Location::kInternal);
}

AddressTuple NeededRule::external_tuple() const {
  const std::uint16_t count = external_port == 0 ? std::uint16_t{1} : internal.count;
  return Endpoint{host_prefix(external), external_port, count}.tuple(external.version, kProtocolUdp,
                                                                     Location::kExternal);
}

std::string to_string(const NeededRule& rule) {
  const char* arrow = rule.direction == Direction::kInbound    ? "<-"
                      : rule.direction == Direction::kOutbound ? "->"
                                                               : "<->";
  return fmt::format("{} {} {}", to_text(rule.internal_tuple()), arrow,
                     to_text(rule.external_tuple()));
}

std::vector<InternalPorts> ports_to_reserve(const Description& offer, std::optional<Side> said,
                                            const MediaRules& rules,
                                            std::span<const InternalPorts> bound) {
  std::vector<InternalPorts> known(bound.begin(), bound.end());
  for (const auto& medium : offer.media) {
    if (!medium.usable() || rules.side_of(offer, medium, said) == Side::kExternal) continue;
    for (const auto& ports : internal_ports(rules.inside_of(medium), true, known)) {
      if (std::ranges::find(known, ports) == known.end()) known.push_back(ports);
    }
  }
  known.erase(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(bound.size()));
  return known;
}

bool receives_at(const Description& offer, const InternalPorts& ports) {
  return std::ranges::any_of(offer.media, [&](const Medium& medium) {
    const auto there = [&](const TransportAddress& at) { return ports.cover(at); };
    return medium.usable() && (there(*medium.media) || (medium.rtcp && there(*medium.rtcp)) ||
                               std::ranges::any_of(medium.candidates, there));
  });
}

std::vector<NeededRule> needed_rules(const Pairing& pairing, const MediaRules& rules,
                                     std::span<const InternalPorts> bound) {
  Collector collector(rules, bound);
  const auto count = std::min(pairing.offer.media.size(), pairing.answer.media.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto& answered = pairing.answer.media[i].media;
    if (answered && answered->port == 0) continue;  // refused
    const auto used = representative(pairing, i);
    const auto& offered = pairing.offer.media[used];
    const auto& answer = pairing.answer.media[used];
    if (!offered.usable() || !answer.usable()) continue;
    const auto from = rules.side_of(pairing.offer, offered, pairing.offerer);
    if (from == rules.side_of(pairing.answer, answer, pairing.answerer)) continue;
    if (from == Side::kInternal) {
      collector.add(offered, answer, pairing.answer.source);
    } else {
      collector.add(answer, offered, pairing.offer.source);
    }
  }
  return collector.take();
}

}  // namespace simco::ng
