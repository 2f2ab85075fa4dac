// Offers and answers: the rules that they need, and the parties and legs that they make.
#include "agent/ng/call/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "agent/ng/protocol/translate.hpp"

namespace simco::ng {
namespace {

std::optional<Side> side_of(const Call& call, const std::string& tag) {
  const auto party = call.parties.find(tag);
  return party == call.parties.end() ? std::nullopt : party->second.side;
}

const Description* said_before(const Call& call, const std::string& tag) {
  const auto party = call.parties.find(tag);
  return party == call.parties.end() ? nullptr : &party->second.description;
}

/// Removes the rules for ports of an offer that have no outside ones (any longer): they would get
/// others than the offer has told. Returns how many these are.
std::size_t drop_unbound(std::vector<NeededRule>& rules, const Offer& offer,
                         const MediaRules& media, std::span<const InternalPorts> bound) {
  const auto lost = ports_to_reserve(offer.description, offer.from_side, media, bound);
  return std::erase_if(rules, [&](const NeededRule& rule) {
    return std::ranges::any_of(lost, [&](const InternalPorts& ports) {
      return ports.cover({rule.internal.address, rule.internal.port});
    });
  });
}

std::expected<Sdp, std::string> read_sdp(const Request& request, bool upstream) {
  if (!upstream && !request.beyond_us.empty()) {
    return std::unexpected("Not possible with a middlebox: " + request.beyond_us);
  }
  auto sdp = parse_sdp(request.sdp);
  if (!sdp || request.transport_protocol.empty() || upstream) return sdp;
  for (const auto& medium : sdp->media) {
    if (medium.port.port != 0 && medium.protocol != request.transport_protocol) {
      return std::unexpected("Not possible with a middlebox: transport-protocol=" +
                             request.transport_protocol);
    }
  }
  return sdp;
}

std::expected<Exchange, std::string> read_offer(Call& call, const PendingRequest& asked,
                                                const Sdp& sdp, const CallOptions& options,
                                                bool nat) {
  const auto& request = asked.request;
  Exchange exchange;
  auto& offer = exchange.offer;
  offer.from_tag = request.from_tag;
  offer.to_tag = request.to_tag;
  offer.via_branch = request.via_branch;
  offer.description = describe(sdp, request, said_before(call, request.from_tag));
  offer.from_side = side_of(call, request.from_tag);
  offer.to_side = side_of(call, request.to_tag);
  // With a media proxy, they are its interfaces.
  if (request.direction && !options.upstream) {
    offer.from_side = request.direction->from;
    offer.to_side = request.direction->to;
  }
  offer.made_at = asked.since.instant;
  offer.withdrawable = call.is_re_offer(offer);
  const auto side = offer.from_side;
  if (auto wrong = options.media.fault(offer.description, side, request.received_from)) {
    return std::unexpected(std::move(*wrong));
  }
  if (!call.has_room_for_an_offer() ||
      (call.parties.size() >= kPartiesMax && !call.knows(request.from_tag))) {
    return std::unexpected("Too many offers for one call");
  }
  if (nat) {
    exchange.reserve = ports_to_reserve(offer.description, side, options.media, call.bound());
  }
  if (exchange.reserve.size() + call.rules.size() + call.reservations.size() > kRulesOfCallMax) {
    return std::unexpected("Too many media or candidates");
  }
  return exchange;
}

std::expected<Exchange, std::string> read_answer(Call& call, const Request& request, const Sdp& sdp,
                                                 const CallOptions& options, bool nat) {
  const auto* offer = call.offer_for(request.from_tag, request.to_tag, request.via_branch);
  if (offer == nullptr) return std::unexpected("No offer with these tags");
  Exchange exchange;
  exchange.answers = true;
  exchange.offer = *offer;
  exchange.answer = describe(sdp, request, said_before(call, request.to_tag));
  const auto to_side = offer->to_side ? offer->to_side : side_of(call, request.to_tag);
  const Pairing pairing{offer->description, exchange.answer, offer->from_side, to_side};
  if (auto wrong = options.media.fault(exchange.answer, pairing.answerer, request.received_from)) {
    return std::unexpected(std::move(*wrong));
  }
  auto& rules = exchange.rules;
  const auto bound = nat ? call.bound() : std::vector<InternalPorts>{};
  if (!options.upstream) rules = needed_rules(pairing, options.media, bound);
  exchange.ports_lost = nat && drop_unbound(rules, *offer, options.media, bound) != 0;
  if (exchange.ports_lost && rules.empty()) {
    exchange.refusal = "The ports of the offer are lost";
    return exchange;
  }
  const auto there = static_cast<std::size_t>(std::ranges::count_if(
      rules, [&](const NeededRule& rule) { return call.rules.contains(rule); }));
  const bool new_leg = call.leg_between(request.from_tag, request.to_tag) == nullptr;
  if (rules.size() - there + call.rules.size() > kRulesOfCallMax ||
      (new_leg && call.legs.size() >= kLegsMax)) {
    exchange.refusal = "Too many media, candidates or branches";
  }
  return exchange;
}

void update_party(Call& call, const std::string& tag, const std::string& other,
                  const Description& said, std::optional<Side> side,
                  std::chrono::sys_seconds wall) {
  auto& party = call.parties[tag];
  if (party.created == std::chrono::sys_seconds{}) party.created = wall;
  party.description = said;
  party.other = other;
  if (side) party.side = side;
}

std::string conclude_offer(Call& call, Offer offer, std::chrono::sys_seconds wall) {
  auto& party = call.parties[offer.from_tag];
  if (party.created == std::chrono::sys_seconds{}) {
    party.created = wall;
    party.description = offer.description;
  }
  const char* line = offer.withdrawable ? "re-offer" : "offer";
  call.add(std::move(offer));
  return line;
}

std::string rules_of(const Call& call, const Leg& leg) {
  std::string pids;
  for (const auto& rule : leg.rules) {
    const auto made = call.rules.find(rule);
    if (made != call.rules.end()) pids += fmt::format(" {}", made->second.pid.value);
  }
  return pids.empty() ? "no rules" : "rules" + pids;
}

std::string conclude_answer(Call& call, const Exchange& exchange, const PendingRequest& asked) {
  const auto& request = asked.request;
  const auto& offer = exchange.offer;
  auto* leg = call.leg_between(request.from_tag, request.to_tag);
  if (leg == nullptr) {
    leg = &call.legs.emplace_back(Leg{request.from_tag, request.to_tag, offer.via_branch, {}});
  }
  leg->rules = exchange.rules;
  auto* answered = call.offer_for(request.from_tag, request.to_tag, request.via_branch);
  if (answered != nullptr) answered->answered = true;
  const auto wall = asked.since.wall;
  update_party(call, request.from_tag, request.to_tag, offer.description, offer.from_side, wall);
  update_party(call, request.to_tag, request.from_tag, exchange.answer, offer.to_side, wall);
  return "answer: " + rules_of(call, *leg);
}

}  // namespace

std::expected<Exchange, std::string> read_exchange(Call& call, const PendingRequest& asked,
                                                   const CallOptions& options, bool nat) {
  const auto& request = asked.request;
  const auto sdp = read_sdp(request, options.upstream);
  if (!sdp) return std::unexpected(sdp.error());
  return request.command == Command::kOffer ? read_offer(call, asked, *sdp, options, nat)
                                            : read_answer(call, request, *sdp, options, nat);
}

/// Each port of the media proxy has one party: those that it has put into the offer the answerer,
/// those in the answer the offerer.
std::optional<std::string> take_sent_on(Exchange& exchange, const Sdp& sdp,
                                        const MediaRules& media) {
  auto sent_on = describe(sdp, Request{}, nullptr);
  if (!exchange.answers) {
    exchange.offer.sent_on = std::move(sent_on);
    return std::nullopt;
  }
  std::set<NeededRule> rules;
  for (const auto& pairing : {Pairing{exchange.offer.sent_on, exchange.answer, {}, {}},
                              Pairing{exchange.offer.description, sent_on, {}, {}}}) {
    const auto needed = needed_rules(pairing, media, {});
    rules.insert(needed.begin(), needed.end());
  }
  if (rules.size() > kRulesOfCallMax) return "too many media or candidates";
  exchange.rules.assign(rules.begin(), rules.end());
  return std::nullopt;
}

std::string conclude(Call& call, Exchange exchange, const PendingRequest& asked) {
  return exchange.answers ? conclude_answer(call, exchange, asked)
                          : conclude_offer(call, std::move(exchange.offer), asked.since.wall);
}

std::string translated(const Call& call, const Request& request, bool nat) {
  const auto sdp = parse_sdp(request.sdp);
  if (!sdp || (!nat && !request.removes_ice)) return request.sdp;
  return translate(*sdp, request, [&](const TransportAddress& internal) {
    return nat ? call.outside_of(internal) : std::nullopt;
  });
}

std::string refusal(std::optional<NegativeReplyCode> code, const std::string& text) {
  using enum NegativeReplyCode;
  switch (code.value_or(kWrongBasicType)) {
    case kLackOfResources:
    case kNoResources:
    case kAddressSpaceNotAvailable:
    case kLackOfAddresses:
    case kLackOfPorts: return "Ran out of ports";
    default: return "Middlebox: " + text;
  }
}

}  // namespace simco::ng
