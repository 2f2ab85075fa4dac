// Offers and answers: what they need of the middlebox, and what they are replied with.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "agent/ng/call/controller.hpp"
#include "agent/ng/protocol/translate.hpp"

namespace simco::ng {
namespace {

using nlohmann::json;

/// Returns the words that rtpengine has for a refusal, if any: proxies act on some of them.
std::string reason_of(std::optional<NegativeReplyCode> code, const std::string& text) {
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

bool is_ok(const json& reply) {
  const auto result = reply.find("result");
  return result != reply.end() && *result == "ok";
}

}  // namespace

/// A session that was just lost is opened again: requests wait for that.
std::optional<std::string> CallController::fault(const Waiting& asked) const {
  const auto& request = asked.request;
  const bool gone = lost_at_ && *lost_at_ + kReplyPatience <= asked.since.instant;
  if (!session_ || gone) return "No session with the middlebox";
  if (session_->twice_nat) return "The middlebox is a twice NAT, which is not supported";
  if (options_.upstream && session_->nat) return "--upstream needs a firewall, not a NAT";
  if (options_.upstream) return std::nullopt;
  if (!request.beyond_us.empty()) return "Not possible with a middlebox: " + request.beyond_us;
  return std::nullopt;
}

/// Reads the SDP of a request that has no other fault.
std::expected<Sdp, std::string> CallController::read_sdp(const Waiting& asked) const {
  const auto& request = asked.request;
  if (const auto wrong = fault(asked)) return std::unexpected(*wrong);
  auto sdp = parse_sdp(request.sdp);
  if (!sdp || request.transport_protocol.empty() || options_.upstream) return sdp;
  for (const auto& medium : sdp->media) {
    if (medium.port.port != 0 && medium.protocol != request.transport_protocol) {
      return std::unexpected("Not possible with a middlebox: transport-protocol=" +
                             request.transport_protocol);
    }
  }
  return sdp;
}

// --- Offers --------------------------------------------------------------------------------------

void CallController::start_offer(Entry& entry, Waiting asked) {
  auto& call = entry.call;
  const auto& request = asked.request;
  const auto sdp = read_sdp(asked);
  if (!sdp) return reply(asked, error_reply(sdp.error()));
  Offer offer;
  offer.from_tag = request.from_tag;
  offer.to_tag = request.to_tag;
  offer.via_branch = request.via_branch;
  offer.description = describe(*sdp, request, said_before(call, request.from_tag));
  offer.from_side = side_of(call, request.from_tag);
  offer.to_side = side_of(call, request.to_tag);
  // With a media proxy, they are its interfaces.
  if (request.direction && !options_.upstream) {
    offer.from_side = request.direction->from;
    offer.to_side = request.direction->to;
  }
  offer.made_at = asked.since.instant;
  offer.withdrawable = call.is_re_offer(offer);
  const auto said = offer.from_side;
  if (const auto wrong = options_.media.fault(offer.description, said, request.received_from)) {
    return reply(asked, error_reply(*wrong));
  }
  if (!call.has_room_for_an_offer() ||
      (call.parties.size() >= kPartiesMax && !call.knows(request.from_tag))) {
    return reply(asked, error_reply("Too many offers for one call"));
  }
  std::vector<InternalPorts> missing;
  if (session_->nat) {
    missing = ports_to_reserve(offer.description, said, options_.media, call.bound());
  }
  if (missing.size() + call.rules.size() + call.reservations.size() > kRulesOfCallMax) {
    return reply(asked, error_reply("Too many media or candidates"));
  }
  entry.operation =
      Operation{std::move(asked), std::move(offer), {}, {}, std::nullopt, 0, std::nullopt};
  if (options_.upstream) return pass_on(entry);
  for (const auto& ports : missing) reserve(entry, ports);
  go_on(entry);
}

void CallController::finish_offer(Entry& entry, Operation& operation) {
  auto& call = entry.call;
  auto& offer = operation.offer;
  auto& party = call.parties[offer.from_tag];
  if (party.created == std::chrono::sys_seconds{}) {
    party.created = operation.asked.since.wall;
    party.description = offer.description;
  }
  log(entry, LogLevel::kInfo, offer.withdrawable ? "re-offer" : "offer");
  call.add(std::move(offer));
  entry.changed = true;
  tell_changed(entry);
  if (operation.passed) return reply(operation.asked, *operation.passed);
  reply(operation.asked, {{"result", "ok"}, {"sdp", translated(entry, operation.asked.request)}});
}

// --- Answers -------------------------------------------------------------------------------------

void CallController::start_answer(Entry& entry, Waiting asked) {
  auto& call = entry.call;
  const auto& request = asked.request;
  const auto sdp = read_sdp(asked);
  if (!sdp) return reply(asked, error_reply(sdp.error()));
  const auto* offer = call.offer_for(request.from_tag, request.to_tag, request.via_branch);
  if (offer == nullptr) return reply(asked, error_reply("No offer with these tags"));
  auto answer = describe(*sdp, request, said_before(call, request.to_tag));
  const auto to_side = offer->to_side ? offer->to_side : side_of(call, request.to_tag);
  const Pairing pairing{offer->description, answer, offer->from_side, to_side};
  if (const auto wrong = options_.media.fault(answer, pairing.answerer, request.received_from)) {
    return reply(asked, error_reply(*wrong));
  }
  std::vector<NeededRule> rules;
  const auto bound = session_->nat ? call.bound() : std::vector<InternalPorts>{};
  if (!options_.upstream) rules = needed_rules(pairing, options_.media, bound);
  if (session_->nat && drop_unbound(rules, *offer, options_.media, bound) != 0) {
    log(entry, LogLevel::kWarning, "ports of the offer are lost, and stay closed");
    if (rules.empty()) return reply(asked, error_reply("The ports of the offer are lost"));
  }
  const auto there = static_cast<std::size_t>(std::ranges::count_if(
      rules, [&](const NeededRule& rule) { return call.rules.contains(rule); }));
  const bool new_leg = call.leg_between(request.from_tag, request.to_tag) == nullptr;
  if (rules.size() - there + call.rules.size() > kRulesOfCallMax ||
      (new_leg && call.legs.size() >= kLegsMax)) {
    return reply(asked, error_reply("Too many media, candidates or branches"));
  }
  entry.operation = Operation{std::move(asked), *offer, std::move(answer), std::move(rules),
                              std::nullopt,     0,      std::nullopt};
  if (options_.upstream) return pass_on(entry);
  ask_for_rules(entry);
  go_on(entry);
}

/// Asks for the rules of the operation that do not exist. Those with the same reserved ports share
/// the binding of the first one, once that is enabled.
void CallController::ask_for_rules(Entry& entry) {
  std::set<InternalPorts> first;
  for (const auto& rule : entry.operation->rules) {
    if (entry.call.rules.contains(rule)) continue;
    const bool reserved = entry.call.reservations.contains(rule.internal);
    if (!reserved || first.insert(rule.internal).second) {
      enable(entry, rule, Transaction::Kind::kEnable);
    }
  }
}

void CallController::finish_answer(Entry& entry, Operation& operation) {
  auto& call = entry.call;
  const auto& request = operation.asked.request;
  auto* leg = call.leg_between(request.from_tag, request.to_tag);
  if (leg == nullptr) {
    leg = &call.legs.emplace_back(
        Leg{request.from_tag, request.to_tag, operation.offer.via_branch, {}});
  }
  leg->rules = operation.rules;
  auto* offer = call.offer_for(request.from_tag, request.to_tag, request.via_branch);
  if (offer != nullptr) offer->answered = true;
  const auto update = [&](const std::string& tag, const std::string& other, Description said,
                          std::optional<Side> side) {
    auto& party = call.parties[tag];
    if (party.created == std::chrono::sys_seconds{}) party.created = operation.asked.since.wall;
    party.description = std::move(said);
    party.other = other;
    if (side) party.side = side;
  };
  update(request.from_tag, request.to_tag, operation.offer.description, operation.offer.from_side);
  update(request.to_tag, request.from_tag, operation.answer, operation.offer.to_side);
  std::string pids;
  for (const auto& rule : leg->rules) {
    const auto made = call.rules.find(rule);
    if (made != call.rules.end()) pids += fmt::format(" {}", made->second.pid.value);
  }
  log(entry, LogLevel::kInfo, "answer: " + (pids.empty() ? "no rules" : "rules" + pids));
  entry.changed = true;
  tell_changed(entry);
  if (operation.passed) return reply(operation.asked, *operation.passed);
  reply(operation.asked, {{"result", "ok"}, {"sdp", translated(entry, request)}});
}

// --- A media proxy -------------------------------------------------------------------------------

void CallController::pass_on(Entry& entry) {
  const auto& asked = entry.operation->asked;
  ++entry.operation->pending;
  passed_on_[asked.id] = entry.call.id;
  host_.pass_on(asked.id, asked.request.dictionary);
}

void CallController::on_upstream_reply(std::uint64_t id, const json& text, Instant now) {
  const auto node = passed_on_.extract(id);
  if (node.empty()) {
    if (left_to_proxy_.erase(id) != 0) host_.reply(id, text);
    return;
  }
  auto& entry = calls_.at(node.mapped());
  --entry.operation->pending;
  take_passed(*entry.operation, text);
  go_on(entry);
  run(node.mapped());
  tend(now);
}

/// Each port of the proxy has one party: those that it has put into the offer the answerer, those
/// in the answer the offerer.
void CallController::take_passed(Operation& operation, const json& text) {
  operation.passed = text;
  const auto body = text.find("sdp");
  const auto sdp = body != text.end() && body->is_string()
                       ? parse_sdp(body->get_ref<const std::string&>())
                       : std::unexpected(std::string("no SDP"));
  if (!is_ok(text) || !sdp) {
    operation.failure = Refusal{std::nullopt, "the media proxy has refused it"};
    return;
  }
  const auto sent_on = describe(*sdp, Request{}, nullptr);
  if (operation.asked.request.command == Command::kOffer) {
    operation.offer.sent_on = sent_on;
    return;
  }
  std::set<NeededRule> rules;
  for (const auto& pairing : {Pairing{operation.offer.sent_on, operation.answer, {}, {}},
                              Pairing{operation.offer.description, sent_on, {}, {}}}) {
    const auto needed = needed_rules(pairing, options_.media, {});
    rules.insert(needed.begin(), needed.end());
  }
  if (rules.size() > kRulesOfCallMax) {
    operation.passed.reset();
    operation.failure = Refusal{std::nullopt, "too many media or candidates"};
    return;
  }
  operation.rules.assign(rules.begin(), rules.end());
}

// --- Both ----------------------------------------------------------------------------------------

/// Finishes the operation if all results are there.
void CallController::go_on(Entry& entry) {
  auto& operation = *entry.operation;
  if (operation.pending > 0) return;
  if (operation.asked.request.command == Command::kDelete) {
    auto asked = std::move(operation.asked);
    entry.operation.reset();
    return end(entry, asked);
  }
  const bool answers = operation.asked.request.command == Command::kAnswer;
  if (answers && !operation.failure) ask_for_rules(entry);
  if (operation.pending > 0) return;
  // Out of the call first: what was made in vain is then no longer needed.
  auto ended = std::move(operation);
  entry.operation.reset();
  if (ended.failure) {
    log(entry, LogLevel::kWarning,
        (answers ? "answer failed: " : "offer failed: ") + ended.failure->text);
    const bool refused = ended.passed && !is_ok(*ended.passed);
    return reply(
        ended.asked,
        refused ? *ended.passed : error_reply(reason_of(ended.failure->code, ended.failure->text)));
  }
  answers ? finish_answer(entry, ended) : finish_offer(entry, ended);
}

std::string CallController::translated(const Entry& entry, const Request& request) const {
  const auto sdp = parse_sdp(request.sdp);
  const bool nat = session_ && session_->nat;
  if (!sdp || (!nat && !request.removes_ice)) return request.sdp;
  return translate(*sdp, request, [&](const TransportAddress& internal) {
    return nat ? entry.call.outside_of(internal) : std::nullopt;
  });
}

}  // namespace simco::ng
