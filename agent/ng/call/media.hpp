// The SDPs of parties as values, and the rules that two parties that have answered each other need.
// No I/O, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "agent/ng/protocol/request.hpp"
#include "agent/ng/protocol/sdp.hpp"
#include "simco/wire/attributes.hpp"
#include "simco/wire/ip.hpp"

namespace simco::ng {

/// A medium as one party describes it.
struct Medium {
  std::string type;      ///< such as "audio"
  std::string protocol;  ///< such as "RTP/AVP"
  std::string mid;
  bool rtp = false;
  bool rtcp_mux = false;
  bool rtcp_mux_only = false;
  bool ice = false;
  /// Where the party receives. Port 0: the medium is refused. nullopt: nothing that a rule could
  /// open, such as TCP or a host name.
  std::optional<TransportAddress> media;
  std::optional<TransportAddress> rtcp;  ///< where it receives RTCP, if that may have its own port
  std::vector<TransportAddress> candidates;  ///< over UDP
  friend bool operator==(const Medium&, const Medium&) = default;

  bool usable() const { return media && media->port != 0; }
};

/// An SDP of a party, and the flags of its SIP message.
struct Description {
  std::vector<Medium> media;
  std::vector<std::vector<std::string>> bundles;  ///< mids
  /// The party sends from this address, even if its SDP has another.
  std::optional<IpAddress> source;
  friend bool operator==(const Description&, const Description&) = default;
};

/// Describes `sdp`. `before`: the party's last description, which a hold with the address 0.0.0.0
/// (RFC 3264 section 8.4) repeats; null: nothing.
Description describe(const Sdp& sdp, const Request& request, const Description* before);

/// Consecutive UDP ports of an internal address: A0 of a rule, by which rules share a binding.
struct InternalPorts {
  IpAddress address;
  std::uint16_t port = 0;
  std::uint16_t count = 1;
  friend auto operator<=>(const InternalPorts&, const InternalPorts&) = default;

  bool cover(const TransportAddress& wanted) const {
    return wanted.address == address && wanted.port >= port && wanted.port - port < count;
  }
};

/// Returns the address tuple of `ports`.
AddressTuple tuple_of(const InternalPorts& ports);

/// A rule that a call needs. Two equal ones are one rule.
struct NeededRule {
  InternalPorts internal;
  IpAddress external;
  std::uint16_t external_port = 0;  ///< the first of as many as the internal ones; 0: any
  Direction direction = Direction::kBidirectional;
  /// That of the internal ports which is for RTCP alone. It does not change the rule, and stays as
  /// it was when the rule was made, for any later SDP.
  std::optional<std::uint16_t> rtcp_port;

  friend bool operator==(const NeededRule& a, const NeededRule& b) { return a.key() == b.key(); }
  friend auto operator<=>(const NeededRule& a, const NeededRule& b) { return a.key() <=> b.key(); }

  AddressTuple internal_tuple() const { return tuple_of(internal); }
  AddressTuple external_tuple() const;

 private:
  std::tuple<const InternalPorts&, const IpAddress&, std::uint16_t, Direction> key() const {
    return {internal, external, external_port, direction};
  }
};

/// Returns the rule as people read it, such as "10.0.0.5:5004/2 <-> 192.0.2.7:6000/2".
std::string to_string(const NeededRule& rule);

/// Internal addresses, and the endpoints that internal parties may have opened.
struct MediaRules {
  std::vector<IpPrefix> internal;
  bool strict_source = false;  ///< media must be where SIP comes from

  bool is_internal(const IpAddress& address) const;
  /// Returns a usable medium of an internal party without candidates that are elsewhere: at a
  /// relay, or as a STUN server sees them.
  Medium inside_of(const Medium& medium) const;
  /// Returns the side of a usable medium: as `said` of its party, or where its address is.
  Side side_of(const Description& description, const Medium& medium,
               std::optional<Side> said) const;
  /// Returns which internal medium must not be opened and why, or nullopt.
  std::optional<std::string> fault(const Description& description, std::optional<Side> said,
                                   const std::optional<IpAddress>& received_from) const;
};

/// Returns the ports that the internal media of an offer need on a NAT before its answer is known,
/// and that are not in `bound`. RTP and RTCP that follow each other are one entry of two ports.
std::vector<InternalPorts> ports_to_reserve(const Description& offer, std::optional<Side> said,
                                            const MediaRules& rules,
                                            std::span<const InternalPorts> bound);

/// Returns true if the party of this offer may receive at one of `ports`.
bool receives_at(const Description& offer, const InternalPorts& ports);

/// An offer and its answer, and the sides that the parties are said to be on, if any.
struct Pairing {
  const Description& offer;
  const Description& answer;
  std::optional<Side> offerer;
  std::optional<Side> answerer;
};

/// Returns the rules that a pairing needs, each once, in ascending order. `bound`: internal ports
/// that have outside ones already, which rules must then use as they are.
std::vector<NeededRule> needed_rules(const Pairing& pairing, const MediaRules& rules,
                                     std::span<const InternalPorts> bound);

}  // namespace simco::ng
