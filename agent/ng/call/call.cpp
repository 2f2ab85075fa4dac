// Offers that supersede others, the effect of a delete, and rules that are no longer needed.
#include "agent/ng/call/call.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agent/ng/call/limits.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;

/// Branches are compared only if both sides of the comparison know one.
bool same_branch(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

/// Whether the tags of a request are those of a leg; `to_tag` may be missing.
bool has_leg_of(const Call& call, const std::string& from_tag, const std::string& to_tag) {
  return std::ranges::any_of(call.legs, [&](const Leg& leg) {
    return to_tag.empty() ? leg.a == from_tag || leg.b == from_tag : leg.between(from_tag, to_tag);
  });
}

bool has_branch(const Call& call, const std::string& via_branch) {
  const auto is_it = [&](const auto& item) { return item.via_branch == via_branch; };
  return std::ranges::any_of(call.offers, is_it) || std::ranges::any_of(call.legs, is_it);
}

std::optional<TransportAddress> translated(const InternalPorts& ports, const AddressTuple& outside,
                                           const TransportAddress& internal) {
  if (!ports.cover(internal)) return std::nullopt;
  const auto offset = internal.port - ports.port;
  return TransportAddress{prefix_of(outside).address,
                          static_cast<std::uint16_t>(outside.port + offset)};
}

/// Whether the middlebox is a NAT, so that the rule holds ports outside.
bool binds(const NeededRule& rule, const MadeRule& made) {
  return prefix_of(made.outside).address != rule.internal.address ||
         made.outside.port != rule.internal.port;
}

json endpoint_of(const TransportAddress& at) {
  return {{"family", at.address.version == IpVersion::kIpv4 ? "IPv4" : "IPv6"},
          {"address", to_string(at.address)},
          {"port", at.port}};
}

json medium_of(const Medium& medium, std::size_t index) {
  json streams = json::array();
  for (const auto& at : {medium.media, medium.rtcp}) {
    if (at && at->port != 0) streams.push_back({{"endpoint", endpoint_of(*at)}});
  }
  return {{"index", index + 1},
          {"type", medium.type},
          {"protocol", medium.protocol},
          {"streams", std::move(streams)}};
}

}  // namespace

KeptRule kept(const NeededRule& rule, const MadeRule& made, Lifetime wanted) {
  const KeptRule::Terms terms{rule.internal_tuple(), rule.external_tuple(), rule.direction};
  return {made.pid, terms, made.outside, wanted};
}

KeptRule kept(const InternalPorts&, const MadeRule& made, Lifetime wanted) {
  return {made.pid, std::nullopt, made.outside, wanted};
}

void Call::add(Offer offer) {
  std::erase_if(offers, [&](const Offer& earlier) {
    // Others may still answer an offer that is not to a certain party.
    const bool done = earlier.answered && !earlier.to_tag.empty();
    return earlier.from_tag == offer.from_tag && earlier.to_tag == offer.to_tag &&
           (done || earlier.via_branch == offer.via_branch);
  });
  if (offers.size() >= kOffersMax) {
    const auto oldest = std::ranges::find_if(offers, &Offer::answered);
    if (oldest != offers.end()) offers.erase(oldest);
  }
  offers.push_back(std::move(offer));
}

bool Call::has_room_for_an_offer() const {
  return offers.size() < kOffersMax || std::ranges::any_of(offers, &Offer::answered);
}

Offer* Call::offer_for(const std::string& from_tag, const std::string& to_tag,
                       const std::string& via_branch) {
  Offer* result = nullptr;
  for (auto& offer : offers) {
    const bool fits = offer.from_tag == from_tag && same_branch(offer.via_branch, via_branch) &&
                      (offer.to_tag.empty() || offer.to_tag == to_tag);
    // One to this very party counts more than one to all.
    if (fits && (result == nullptr || offer.to_tag == to_tag || result->to_tag.empty())) {
      result = &offer;
    }
  }
  return result;
}

Leg* Call::leg_between(const std::string& a, const std::string& b) {
  const auto found = std::ranges::find_if(legs, [&](const Leg& leg) { return leg.between(a, b); });
  return found == legs.end() ? nullptr : &*found;
}

bool Call::is_re_offer(const Offer& offer) const {
  return std::ranges::any_of(legs, [&](const Leg& leg) {
    const bool party = leg.a == offer.from_tag || leg.b == offer.from_tag;
    return leg.between(offer.from_tag, offer.to_tag) ||
           (party && offer.to_tag.empty() && same_branch(leg.via_branch, offer.via_branch));
  });
}

Call::Ended Call::end(const std::string& from_tag, const std::string& to_tag,
                      const std::string& via_branch) {
  if (!from_tag.empty() && !knows(from_tag)) return Ended::kNothing;
  // Before the first answer the other tag cannot be known.
  if (!to_tag.empty() && !legs.empty() && !knows(to_tag)) return Ended::kNothing;
  // A BYE has a branch of its own, which the call does not have: its tags count.
  const bool by_tags = !has_branch(*this, via_branch) && has_leg_of(*this, from_tag, to_tag);
  const auto of_branch = [&](const auto& item) {
    return by_tags || via_branch.empty() || item.via_branch == via_branch;
  };
  // Both parties may have made one at the same time: each is refused by itself.
  const auto withdraw = [&](auto whose) {
    return std::erase_if(offers, [&](const Offer& offer) {
      return offer.withdrawable && !offer.answered && of_branch(offer) && whose(offer);
    });
  };
  const auto own = [&](const Offer& offer) { return offer.from_tag == from_tag; };
  if (withdraw(own) != 0 || withdraw([](const Offer&) { return true; }) != 0)
    return Ended::kReOffer;
  const auto ended = std::erase_if(offers, of_branch) + std::erase_if(legs, of_branch);
  if (ended == 0) return Ended::kNothing;
  return over() ? Ended::kCall : Ended::kBranch;
}

std::vector<InternalPorts> Call::bound() const {
  std::set<InternalPorts> result;
  for (const auto& [ports, made] : reservations) result.insert(ports);
  for (const auto& [rule, made] : rules) result.insert(rule.internal);
  return {result.begin(), result.end()};
}

std::optional<TransportAddress> Call::outside_of(const TransportAddress& internal) const {
  for (const auto& [rule, made] : rules) {
    if (auto result = translated(rule.internal, made.outside, internal)) return result;
  }
  for (const auto& [ports, made] : reservations) {
    if (auto result = translated(ports, made.outside, internal)) return result;
  }
  return std::nullopt;
}

std::set<NeededRule> Call::needed() const {
  std::set<NeededRule> result;
  for (const auto& leg : legs) result.insert(leg.rules.begin(), leg.rules.end());
  return result;
}

std::vector<PolicyRuleId> Call::release() {
  const auto wanted = needed();
  const auto is_awaited = [&](const InternalPorts& ports) {
    return std::ranges::any_of(offers, [&](const Offer& offer) {
      return !offer.answered && receives_at(offer.description, ports);
    });
  };
  // Ports that an offer has told must be the same when its answer comes, on a NAT: if only rules of
  // ended legs hold them, one of these stays.
  std::set<InternalPorts> held;
  for (const auto& rule : wanted) held.insert(rule.internal);
  for (const auto& [ports, made] : reservations) held.insert(ports);
  const auto stays = [&](const NeededRule& rule, const MadeRule& made) {
    if (wanted.contains(rule)) return true;
    return is_awaited(rule.internal) && binds(rule, made) && held.insert(rule.internal).second;
  };
  std::vector<PolicyRuleId> released;
  std::erase_if(rules, [&](const auto& entry) {
    if (stays(entry.first, entry.second)) return false;
    released.push_back(entry.second.pid);
    return true;
  });
  std::erase_if(reservations, [&](const auto& entry) {
    if (is_awaited(entry.first)) return false;
    released.push_back(entry.second.pid);
    return true;
  });
  return released;
}

std::vector<PolicyRuleId> Call::pids() const {
  std::vector<PolicyRuleId> result;
  for (const auto& [rule, made] : rules) result.push_back(made.pid);
  return result;
}

std::optional<NeededRule> Call::forget(PolicyRuleId pid) {
  tally.end(pid);
  const auto is_it = [pid](const auto& item) { return item.second.pid == pid; };
  std::erase_if(reservations, is_it);
  const auto found = std::ranges::find_if(rules, is_it);
  if (found == rules.end()) return std::nullopt;
  return rules.extract(found).key();
}

json summary_of(const Call& call) {
  json tags = json::object();
  for (const auto& [tag, party] : call.parties) {
    json medias = json::array();
    const auto& media = party.description.media;
    for (std::size_t i = 0; i < media.size(); ++i) medias.push_back(medium_of(media[i], i));
    tags[tag] = {{"tag", tag},
                 {"created", party.created.time_since_epoch().count()},
                 {"medias", std::move(medias)}};
    if (!party.other.empty()) tags[tag]["in dialogue with"] = party.other;
  }
  const auto& totals = call.tally.total();
  const auto counters = [](const PacketCount& count) {
    return json{{"packets", count.packets}, {"bytes", count.octets}, {"errors", 0}};
  };
  return {{"result", "ok"},
          {"created", call.created.time_since_epoch().count()},
          {"last signal", call.last_signal.time_since_epoch().count()},
          {"tags", std::move(tags)},
          {"totals", {{"RTP", counters(totals.rtp)}, {"RTCP", counters(totals.rtcp)}}}};
}

}  // namespace simco::ng
