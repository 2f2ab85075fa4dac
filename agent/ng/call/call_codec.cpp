// Values are arrays and calls are objects; moments are kept as seconds of the calendar.
#include "agent/ng/call/call_codec.hpp"

#include <concepts>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <tuple>

namespace simco::ng {
namespace {

using nlohmann::json;

template <class Value, class Wanted>
concept Is = std::same_as<std::remove_const_t<Value>, Wanted>;

// The parts of each kind of value, in the order of its array.
auto parts(Is<TransportAddress> auto& at) { return std::tie(at.address, at.port); }
auto parts(Is<InternalPorts> auto& ports) {
  return std::tie(ports.address, ports.port, ports.count);
}
auto parts(Is<Medium> auto& medium) {
  return std::tuple_cat(
      std::tie(medium.type, medium.protocol, medium.mid),
      std::make_tuple(std::tie(medium.rtp, medium.rtcp_mux, medium.rtcp_mux_only, medium.ice)),
      std::tie(medium.media, medium.rtcp, medium.candidates));
}
auto parts(Is<Description> auto& description) {
  return std::tie(description.media, description.bundles, description.source);
}
auto parts(Is<NeededRule> auto& rule) {
  return std::tie(rule.internal, rule.external, rule.external_port, rule.direction, rule.rtcp_port);
}
auto parts(Is<Offer> auto& offer) {
  return std::tuple_cat(std::tie(offer.from_tag, offer.to_tag, offer.via_branch, offer.description,
                                 offer.from_side, offer.to_side),
                        std::make_tuple(std::tie(offer.withdrawable, offer.answered)),
                        std::tie(offer.sent_on));
}
auto parts(Is<Leg> auto& leg) { return std::tie(leg.a, leg.b, leg.via_branch, leg.rules); }
auto parts(Is<MediaCount> auto& count) {
  return std::tie(count.rtp.packets, count.rtp.octets, count.rtcp.packets, count.rtcp.octets);
}
auto parts(Is<Party> auto& party) {
  return std::tie(party.created, party.side, party.other, party.description);
}
auto parts(Is<Tally::Reading> auto& reading, auto& pid) {
  return std::tie(pid, reading.version, reading.rtcp_port, reading.run, reading.count);
}

/// Writes and reads any value. A class, so that its functions find each other.
struct Codec {
  static json write(Side side) { return side == Side::kInternal ? "internal" : "external"; }
  static json write(const IpAddress& address) { return to_string(address); }
  static json write(IpVersion version) { return version == IpVersion::kIpv4 ? 4 : 6; }
  static json write(Direction direction) { return static_cast<int>(direction); }
  static json write(PolicyRuleId pid) { return pid.value; }
  static json write(std::chrono::sys_seconds time) { return time.time_since_epoch().count(); }
  template <class Value>
  static json write(const std::optional<Value>& value) {
    return value ? write(*value) : json();
  }
  template <class Value>
  static json write(const std::vector<Value>& values) {
    json result = json::array();
    for (const auto& value : values) result.push_back(write(value));
    return result;
  }
  template <class... Part>
  static json write(const std::tuple<Part...>& values) {
    json result = json::array();
    std::apply([&](const auto&... value) { (result.push_back(write(value)), ...); }, values);
    return result;
  }
  template <class Value>
  static json write(const Value& value) {
    if constexpr (requires { parts(value); }) {
      return write(parts(value));
    } else {
      return value;
    }
  }

  static void read(const json& from, Side& side) {
    side = from == "internal" ? Side::kInternal : Side::kExternal;
  }
  static void read(const json& from, IpAddress& address) {
    const auto parsed = parse_address(from.get<std::string>());
    if (!parsed) throw std::invalid_argument("not an address");
    address = *parsed;
  }
  static void read(const json& from, IpVersion& version) {
    version = from == 4 ? IpVersion::kIpv4 : IpVersion::kIpv6;
  }
  static void read(const json& from, Direction& direction) {
    direction = static_cast<Direction>(from.get<int>());
  }
  static void read(const json& from, PolicyRuleId& pid) { from.get_to(pid.value); }
  static void read(const json& from, std::chrono::sys_seconds& time) {
    time = std::chrono::sys_seconds(std::chrono::seconds(from.get<std::int64_t>()));
  }
  template <class Value>
  static void read(const json& from, std::optional<Value>& value) {
    if (!from.is_null()) read(from, value.emplace());
  }
  template <class Value>
  static void read(const json& from, std::vector<Value>& values) {
    for (const auto& item : from) read(item, values.emplace_back());
  }
  template <class... Part>
  static void read(const json& from, std::tuple<Part...> values) {
    std::size_t at = 0;
    std::apply([&](auto&... value) { (read(from.at(at++), value), ...); }, values);
  }
  template <class Value>
  static void read(const json& from, Value& value) {
    if constexpr (requires { parts(value); }) {
      read(from, parts(value));
    } else {
      from.get_to(value);
    }
  }

  /// Of the rules that the call has; a rule that is asked for the last time is not asked again.
  static json write(const Tally& tally, const std::map<NeededRule, MadeRule>& rules) {
    json readings = json::array();
    for (const auto& [rule, made] : rules) {
      const auto found = tally.readings().find(made.pid);
      if (found == tally.readings().end()) continue;
      readings.push_back(write(parts(found->second, found->first)));
    }
    return {write(tally.total()), std::move(readings)};
  }
  static Tally read_tally(const json& from, Instant now) {
    MediaCount total;
    read(from.at(0), total);
    std::map<PolicyRuleId, Tally::Reading> readings;
    for (const auto& item : from.at(1)) {
      PolicyRuleId pid;
      Tally::Reading reading;
      read(item, parts(reading, pid));
      readings[pid] = reading;
    }
    return {total, std::move(readings), now};
  }

  /// Writes a map from needed to existing rules.
  template <class Key>
  static json write_made(const std::map<Key, MadeRule>& made) {
    json result = json::array();
    for (const auto& [key, rule] : made) {
      const InternalPorts outside{prefix_of(rule.outside).address, rule.outside.port,
                                  rule.outside.port_range};
      result.push_back(write(std::tie(key, rule.pid, outside)));
    }
    return result;
  }
  template <class Key>
  static std::map<Key, MadeRule> read_made(const json& from) {
    std::map<Key, MadeRule> result;
    for (const auto& item : from) {
      Key key;
      MadeRule made;
      InternalPorts outside;
      read(item, std::tie(key, made.pid, outside));
      made.outside = tuple_of(outside);
      made.outside.location = Location::kOutside;
      result[key] = made;
    }
    return result;
  }
};

}  // namespace

json write_call(const Call& call, Moment now) {
  json parties = json::object();
  for (const auto& [tag, party] : call.parties) parties[tag] = Codec::write(party);
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(call.ends_at - now.instant);
  return {{"id", call.id},
          {"created", Codec::write(call.created)},
          {"last signal", Codec::write(call.last_signal)},
          {"ends", Codec::write(now.wall + left)},
          {"parties", std::move(parties)},
          {"offers", Codec::write(call.offers)},
          {"legs", Codec::write(call.legs)},
          {"rules", Codec::write_made(call.rules)},
          {"reservations", Codec::write_made(call.reservations)},
          {"tally", Codec::write(call.tally, call.rules)}};
}

Call read_call(const json& document, Moment now) {
  Call call;
  std::chrono::sys_seconds ends;
  Codec::read(document.at("id"), call.id);
  Codec::read(document.at("created"), call.created);
  Codec::read(document.at("last signal"), call.last_signal);
  Codec::read(document.at("ends"), ends);
  call.ends_at = now.instant + (ends - now.wall);
  for (const auto& [tag, party] : document.at("parties").items())
    Codec::read(party, call.parties[tag]);
  Codec::read(document.at("offers"), call.offers);
  for (auto& offer : call.offers) offer.made_at = now.instant;
  Codec::read(document.at("legs"), call.legs);
  call.rules = Codec::read_made<NeededRule>(document.at("rules"));
  call.reservations = Codec::read_made<InternalPorts>(document.at("reservations"));
  call.tally = Codec::read_tally(document.at("tally"), now.instant);
  return call;
}

}  // namespace simco::ng
