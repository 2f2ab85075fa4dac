// Values are arrays and calls are objects; moments are kept as seconds of the calendar.
#include "agent/ng/call/call_codec.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace simco::ng {
namespace {

using nlohmann::json;

template <class Value>
Value required(std::optional<Value> value, const char* what) {
  if (!value) throw std::invalid_argument(what);
  return *value;
}

IpAddress address_from(const json& document) {
  return required(parse_address(document.get<std::string>()), "not an address");
}

/// Each kind of value is an array; the functions for it follow each other. A class, so that they
/// find each other.
struct Codec {
  static json write(const TransportAddress& at) { return {to_string(at.address), at.port}; }
  static void read(const json& from, TransportAddress& at) {
    at = {address_from(from.at(0)), from.at(1).get<std::uint16_t>()};
  }

  static json write(Side side) { return side == Side::kInternal ? "internal" : "external"; }
  static void read(const json& from, Side& side) {
    side = from == "internal" ? Side::kInternal : Side::kExternal;
  }

  static json write(const IpAddress& address) { return to_string(address); }
  static void read(const json& from, IpAddress& address) { address = address_from(from); }

  template <class Value>
  static json write(const std::optional<Value>& value) {
    return value ? write(*value) : json();
  }
  template <class Value>
  static void read(const json& from, std::optional<Value>& value) {
    if (!from.is_null()) read(from, value.emplace());
  }

  template <class Value>
  static json write_all(const std::vector<Value>& values) {
    json result = json::array();
    for (const auto& value : values) result.push_back(write(value));
    return result;
  }
  template <class Value>
  static std::vector<Value> read_all(const json& from) {
    std::vector<Value> result;
    for (const auto& item : from) read(item, result.emplace_back());
    return result;
  }

  static json write(const Medium& medium) {
    return {medium.type,
            medium.protocol,
            medium.mid,
            {medium.rtp, medium.rtcp_mux, medium.rtcp_mux_only, medium.ice},
            write(medium.media),
            write(medium.rtcp),
            write_all(medium.candidates)};
  }
  static void read(const json& from, Medium& medium) {
    from.at(0).get_to(medium.type);
    from.at(1).get_to(medium.protocol);
    from.at(2).get_to(medium.mid);
    const auto& flags = from.at(3);
    flags.at(0).get_to(medium.rtp);
    flags.at(1).get_to(medium.rtcp_mux);
    flags.at(2).get_to(medium.rtcp_mux_only);
    flags.at(3).get_to(medium.ice);
    read(from.at(4), medium.media);
    read(from.at(5), medium.rtcp);
    medium.candidates = read_all<TransportAddress>(from.at(6));
  }

  static json write(const Description& description) {
    return {write_all(description.media), description.bundles, write(description.source)};
  }
  static void read(const json& from, Description& description) {
    description.media = read_all<Medium>(from.at(0));
    from.at(1).get_to(description.bundles);
    read(from.at(2), description.source);
  }

  static json write(const InternalPorts& ports) {
    return {to_string(ports.address), ports.port, ports.count};
  }
  static void read(const json& from, InternalPorts& ports) {
    ports = {address_from(from.at(0)), from.at(1).get<std::uint16_t>(),
             from.at(2).get<std::uint16_t>()};
  }

  static json write(const NeededRule& rule) {
    return {write(rule.internal), to_string(rule.external), rule.external_port,
            static_cast<int>(rule.direction), write(rule.rtcp_port)};
  }
  static void read(const json& from, NeededRule& rule) {
    read(from.at(0), rule.internal);
    rule.external = address_from(from.at(1));
    from.at(2).get_to(rule.external_port);
    rule.direction = static_cast<Direction>(from.at(3).get<int>());
    read(from.at(4), rule.rtcp_port);
  }

  static json write(const Offer& offer) {
    return {offer.from_tag,
            offer.to_tag,
            offer.via_branch,
            write(offer.description),
            write(offer.from_side),
            write(offer.to_side),
            {offer.withdrawable, offer.answered},
            write(offer.sent_on)};
  }
  static void read(const json& from, Offer& offer) {
    from.at(0).get_to(offer.from_tag);
    from.at(1).get_to(offer.to_tag);
    from.at(2).get_to(offer.via_branch);
    read(from.at(3), offer.description);
    read(from.at(4), offer.from_side);
    read(from.at(5), offer.to_side);
    from.at(6).at(0).get_to(offer.withdrawable);
    from.at(6).at(1).get_to(offer.answered);
    read(from.at(7), offer.sent_on);
  }

  static json write(const Leg& leg) { return {leg.a, leg.b, leg.via_branch, write_all(leg.rules)}; }
  static void read(const json& from, Leg& leg) {
    from.at(0).get_to(leg.a);
    from.at(1).get_to(leg.b);
    from.at(2).get_to(leg.via_branch);
    leg.rules = read_all<NeededRule>(from.at(3));
  }

  static json write(const MediaCount& count) {
    return {count.rtp.packets, count.rtp.octets, count.rtcp.packets, count.rtcp.octets};
  }
  static void read(const json& from, MediaCount& count) {
    std::size_t at = 0;
    for (auto* number :
         {&count.rtp.packets, &count.rtp.octets, &count.rtcp.packets, &count.rtcp.octets}) {
      from.at(at++).get_to(*number);
    }
  }

  static json write(const std::optional<std::uint16_t>& port) {
    return port ? json(*port) : json();
  }
  static void read(const json& from, std::optional<std::uint16_t>& port) {
    if (!from.is_null()) from.get_to(port.emplace());
  }

  /// Of the rules that the call has; a rule that is asked for the last time is not asked again.
  static json write(const Tally& tally, const std::map<NeededRule, MadeRule>& rules) {
    json readings = json::array();
    for (const auto& [rule, made] : rules) {
      const auto found = tally.readings().find(made.pid);
      if (found == tally.readings().end()) continue;
      const auto& [version, rtcp_port, run, count] = found->second;
      readings.push_back({made.pid.value, version == IpVersion::kIpv4 ? 4 : 6, write(rtcp_port),
                          run ? json(*run) : json(), write(count)});
    }
    return {write(tally.total()), std::move(readings)};
  }
  static Tally read_tally(const json& from, Instant now) {
    MediaCount total;
    read(from.at(0), total);
    std::map<PolicyRuleId, Tally::Reading> readings;
    for (const auto& item : from.at(1)) {
      auto& reading = readings[{item.at(0).get<std::uint32_t>()}];
      reading.version = item.at(1) == 4 ? IpVersion::kIpv4 : IpVersion::kIpv6;
      read(item.at(2), reading.rtcp_port);
      if (const auto& run = item.at(3); !run.is_null()) run.get_to(reading.run.emplace());
      read(item.at(4), reading.count);
    }
    return {total, std::move(readings), now};
  }

  static json write(const Party& party) {
    return {party.created.time_since_epoch().count(), write(party.side), party.other,
            write(party.description)};
  }
  static void read(const json& from, Party& party) {
    party.created = std::chrono::sys_seconds(std::chrono::seconds(from.at(0).get<std::int64_t>()));
    read(from.at(1), party.side);
    from.at(2).get_to(party.other);
    read(from.at(3), party.description);
  }

  /// Writes a map from needed to existing rules.
  template <class Key>
  static json write_made(const std::map<Key, MadeRule>& made) {
    json result = json::array();
    for (const auto& [key, rule] : made) {
      const InternalPorts outside{prefix_of(rule.outside).address, rule.outside.port,
                                  rule.outside.port_range};
      result.push_back({write(key), rule.pid.value, write(outside)});
    }
    return result;
  }
  template <class Key>
  static std::map<Key, MadeRule> read_made(const json& from) {
    std::map<Key, MadeRule> result;
    for (const auto& item : from) {
      Key key;
      InternalPorts outside;
      read(item.at(0), key);
      read(item.at(2), outside);
      result[key] = {{item.at(1).get<std::uint32_t>()}, tuple_of(outside)};
      result[key].outside.location = Location::kOutside;
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
          {"created", call.created.time_since_epoch().count()},
          {"last signal", call.last_signal.time_since_epoch().count()},
          {"ends", (now.wall + left).time_since_epoch().count()},
          {"parties", std::move(parties)},
          {"offers", Codec::write_all(call.offers)},
          {"legs", Codec::write_all(call.legs)},
          {"rules", Codec::write_made(call.rules)},
          {"reservations", Codec::write_made(call.reservations)},
          {"tally", Codec::write(call.tally, call.rules)}};
}

Call read_call(const json& document, Moment now) {
  const auto time = [&](const char* key) {
    return std::chrono::sys_seconds(std::chrono::seconds(document.at(key).get<std::int64_t>()));
  };
  Call call;
  document.at("id").get_to(call.id);
  call.created = time("created");
  call.last_signal = time("last signal");
  call.ends_at = now.instant + (time("ends") - now.wall);
  for (const auto& [tag, party] : document.at("parties").items())
    Codec::read(party, call.parties[tag]);
  call.offers = Codec::read_all<Offer>(document.at("offers"));
  for (auto& offer : call.offers) offer.made_at = now.instant;
  call.legs = Codec::read_all<Leg>(document.at("legs"));
  call.rules = Codec::read_made<NeededRule>(document.at("rules"));
  call.reservations = Codec::read_made<InternalPorts>(document.at("reservations"));
  call.tally = Codec::read_tally(document.at("tally"), now.instant);
  return call;
}

}  // namespace simco::ng
