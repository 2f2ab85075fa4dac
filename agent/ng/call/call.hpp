// A call as proxies tell it: offers, answers, and the rules of the middlebox that belong to it. No
// I/O, no clock.
#pragma once

#include <chrono>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/ng/call/media.hpp"
#include "agent/ng/call/tally.hpp"
#include "simco/session/rule_keeper.hpp"
#include "simco/wire/attributes.hpp"
#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::ng {

/// A moment, by the monotonic clock and by the calendar.
struct Moment {
  Instant instant;
  std::chrono::sys_seconds wall;
};

/// A tag, and its owner's first description, or the last with an answer.
struct Party {
  std::chrono::sys_seconds created;
  std::optional<Side> side;  ///< that `direction` said
  std::string other;         ///< the tag of the one that it talks to, if known
  Description description;
};

/// An offer. It is kept after its answer, because others may answer it too.
struct Offer {
  std::string from_tag;
  std::string to_tag;  ///< empty: to all that the INVITE reaches
  std::string via_branch;
  Description description;
  Description sent_on;            ///< as --upstream has changed it; without, empty
  std::optional<Side> from_side;  ///< that `direction` says, now or before
  std::optional<Side> to_side;
  Instant made_at;
  /// A delete withdraws it alone: it is to a party that has answered before, and no answer to it
  /// has come, not even one that failed.
  bool withdrawable = false;
  bool answered = false;  ///< and that did not fail
};

/// Two parties that have answered each other.
struct Leg {
  std::string a;
  std::string b;
  std::string via_branch;
  std::vector<NeededRule> rules;

  bool between(const std::string& x, const std::string& y) const {
    return (a == x && b == y) || (a == y && b == x);
  }
};

/// A rule or a reservation of the middlebox.
struct MadeRule {
  PolicyRuleId pid;
  AddressTuple outside;  ///< that stands for the internal ports
};

/// Returns the rule or the reservation as a RuleKeeper keeps it.
KeptRule kept(const NeededRule& rule, const MadeRule& made, Lifetime wanted);
KeptRule kept(const InternalPorts& ports, const MadeRule& made, Lifetime wanted);

struct Call {
  std::string id;
  std::chrono::sys_seconds created;
  std::chrono::sys_seconds last_signal;
  Instant ends_at;
  std::map<std::string, Party> parties;  ///< by tag
  std::vector<Offer> offers;             ///< oldest first
  std::vector<Leg> legs;
  std::map<NeededRule, MadeRule> rules;
  std::map<InternalPorts, MadeRule> reservations;
  Tally tally;  ///< of its rules, and of those that it had

  /// Adds an offer, instead of those that it supersedes; or of the oldest one that has an answer,
  /// if there are kOffersMax.
  void add(Offer offer);
  bool has_room_for_an_offer() const;
  /// Returns the latest offer that an answer with these tags belongs to, or null.
  Offer* offer_for(const std::string& from_tag, const std::string& to_tag,
                   const std::string& via_branch);
  Leg* leg_between(const std::string& a, const std::string& b);
  /// Returns true if one of the call's parties has this tag.
  bool knows(const std::string& tag) const { return parties.contains(tag); }
  /// Returns true if an offer from `from_tag` is one within a dialogue that exists.
  bool is_re_offer(const Offer& offer) const;

  /// The part of a call that a delete ends.
  enum class Ended : std::uint8_t { kNothing, kReOffer, kBranch, kCall };
  /// Removes the legs and offers that a delete ends; rules stay until release() names them. Of
  /// re-offers without an answer, those of `from_tag` come first. A `via_branch` that the
  /// call does not have does not count, if the tags are those of a leg.
  Ended end(const std::string& from_tag, const std::string& to_tag, const std::string& via_branch);

  /// Returns the internal ports that have outside ones.
  std::vector<InternalPorts> bound() const;
  /// Returns the outside address of `internal`, on a NAT.
  std::optional<TransportAddress> outside_of(const TransportAddress& internal) const;
  /// Returns the rules that its legs need.
  std::set<NeededRule> needed() const;
  /// Takes the rules and reservations that nothing needs any longer out of the call. The counts of
  /// rules stay in the tally.
  std::vector<PolicyRuleId> release();
  std::vector<PolicyRuleId> pids() const;  ///< of its rules, without reservations
  /// The middlebox no longer has this rule or reservation. Returns it, if it is a rule.
  std::optional<NeededRule> forget(PolicyRuleId pid);
  bool over() const { return legs.empty() && offers.empty(); }
  void end_all() {
    legs.clear();
    offers.clear();
  }
};

/// Returns the reply to query and delete of a call: `created`, `last signal`, `tags`, `totals`.
/// Totals are those of the last reading, 0 if nothing is counted.
nlohmann::json summary_of(const Call& call);

}  // namespace simco::ng
