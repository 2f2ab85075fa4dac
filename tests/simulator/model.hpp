// A plain model of the middlebox, written to be read: it compares all pairs of rules and counts
// ports one by one. Random runs compare the product with it.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/policy/engine.hpp"

namespace simco::test {

using policy::Mode;
using policy::Parity;
using policy::parity_of;
using rule::RuleKind;

struct ModelRule {
  RuleKind kind = RuleKind::kEnable;
  std::string owner;
  std::uint32_t group = 0;
  Instant expires_at;
  PerParameterSet parameters;
  AddressTuple internal;
  AddressTuple external;
  AddressTuple outside;
  std::optional<AddressTuple> inside;
};

/// The middlebox's choices for a request that it grants.
struct Given {
  std::uint32_t pid = 0;
  std::uint32_t group = 0;
  Instant expires_at;
  AddressTuple outside;
  std::optional<AddressTuple> inside;
};

/// A rule that is new, changed or gone, of which its owner and agents that may see its rules hear.
struct Happened {
  std::uint32_t pid = 0;
  std::uint32_t lifetime = 0;  ///< seconds; 0: it is gone
  std::string owner;
  bool asked_for = true;  ///< the requester of just this hears of it by the reply
  friend auto operator<=>(const Happened&, const Happened&) = default;
};

/// Do the tuples have an address, a protocol and a port in common?
bool meets(const AddressTuple& a, const AddressTuple& b);

class Model {
 public:
  using Code = std::optional<NegativeReplyCode>;

  static constexpr std::uint32_t kRulesMax = 40;
  static constexpr std::uint16_t kFirstPort = 3000;
  static constexpr std::uint16_t kLastPort = 3011;
  static constexpr std::uint32_t kAddresses = 2;

  /// The model's verdict about a request.
  struct Verdict {
    Code refusal;           ///< nothing: it is granted
    bool shortage = false;  ///< the NAT has not enough; the code is open
    bool granted() const { return !refusal && !shortage; }
    /// Does `reply` fit this verdict?
    bool agrees_with(const Body& reply) const;
  };

  explicit Model(Mode mode) : mode_(mode) {}

  /// How the middlebox is to be configured: the agents a, b, boss and viewer, and the pools.
  static policy::AgentDirectory directory(const std::set<std::string>& without = {});
  static std::string secret_of(const std::string& who) { return "the secret of " + who; }
  static constexpr const char* kMiddleboxSecret = "the middlebox's secret";
  static policy::NatTable::Options nat_options(Mode mode);

  std::map<std::uint32_t, ModelRule> rules;
  std::map<std::uint32_t, std::string> groups;  ///< owner; may be empty of rules

  // --- Requests ---

  /// The verdict about a request of `who` at `now`.
  Verdict decide(const std::string& who, const Body& request, Instant now) const;
  /// Returns a complaint about the middlebox's choices for a request that it grants, if any. Not
  /// for PLC.
  std::optional<std::string> fault_in(const std::string& who, const Body& request,
                                      const Given& given) const;
  /// Grants the request; adds its events to `happened`. With PLC, `given` needs the PID and the end
  /// only.
  void carry_out(const std::string& who, const Body& request, const Given& given,
                 std::vector<Happened>& happened);
  /// Ends the enable rules that a disable rule hits, which follows when a PDR is granted.
  void end_disabled_rules(std::vector<Happened>& happened);
  /// The reply to `request` that granted it; `lifetime` was granted.
  Body reply_to(const Body& request, std::uint32_t pid, Lifetime lifetime) const;
  /// The reply to a PRS about a rule that is there. Its owner's name is the rule's: valid as long.
  Body status_of(std::uint32_t pid, Instant now) const;
  /// PIDs of the rules that `who` may see.
  std::set<std::uint32_t> visible_to(const std::string& who) const;
  /// Lifetime that `who` gets.
  static Lifetime grant(const std::string& who, Lifetime wish) {
    return {std::min(wish.seconds, lifetime_max(who))};
  }

  // --- Rights and rules ---

  static bool sees(const std::string& who, const std::string& owner) {
    return who == owner || who == "boss" || (who == "viewer" && owner == "a");
  }
  static bool changes(const std::string& who, const std::string& owner) {
    return who == owner || who == "boss";
  }
  static std::uint32_t rules_max(const std::string& who) { return who == "b" ? 8 : 0xFFFF'FFFF; }
  static bool may_extend(const std::string& who) { return who != "b"; }
  static std::uint32_t lifetime_max(const std::string& who) { return who == "b" ? 20 : 60; }

  std::uint32_t rules_of(const std::string& owner) const;
  bool has_group(std::uint32_t group) const;
  Code check_group(const std::string& who, const std::optional<GroupId>& group) const;
  bool is_disabled(const AddressTuple& internal, const AddressTuple& external) const;
  bool everything_is_disabled(std::uint8_t protocol) const;
  Code check_resources(const std::string& who) const;
  // The requests of this test have one fault at most among those of check_tuples(): their port
  // ranges, their wildcards.
  Code check_tuples(const AddressTuple& internal, const AddressTuple& external, bool both_ways,
                    bool for_disable) const;

  // --- Bindings of a NAT ---

  struct Need {
    unsigned ports;
    Parity parity;
  };
  bool translates() const { return mode_ != Mode::kFirewall; }
  bool is_twice_nat() const { return mode_ == Mode::kTwiceNat; }
  /// The need of an enable rule on one side.
  static Need need(bool outside, const AddressTuple& internal, const AddressTuple& external,
                   PerParameterSet parameters);
  static bool fits(const AddressTuple& given, Need need);
  /// Whether a PEA may have the reservation of `rule`.
  static Code check_fit(const ModelRule& rule, const PeaRequest& request);
  static bool is_shortage(Code code);
  /// Ports taken on one side, by address and port.
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken(bool outside,
                                                          std::uint8_t protocol) const;
  bool has_room(std::uint8_t protocol, Need outside, Need inside) const;
  /// The binding of `who`'s enable rules for the same endpoint, which a further rule shares.
  std::vector<AddressTuple> bindings_of(const std::string& who, bool outside,
                                        const PerRequest& request) const;
  bool can_give(const std::string& who, const PerRequest& request) const;

 private:
  Code refuse_per(const std::string& who, const PerRequest& request) const;
  Code refuse_prr(const std::string& who, const PrrRequest& request) const;
  Code refuse_pea(const std::string& who, const PeaRequest& request, Instant now) const;
  Code refuse_pdr(const std::string& who, const PdrRequest& request) const;
  Code refuse_plc(const std::string& who, const PlcRequest& request, Instant now) const;
  Code refuse_prs(const std::string& who, const PrsRequest& request) const;
  std::optional<std::string> fault_in_binding(const std::string& who, const AddressTuple& given,
                                              bool outside, const PerRequest& request) const;
  /// Is the NAT's tuple free, and as requested?
  std::optional<std::string> fault_in_tuple(const AddressTuple& given, bool outside,
                                            std::uint8_t protocol, Need need) const;
  std::optional<std::string> fault_in_group(const std::string& who,
                                            const std::optional<GroupId>& asked,
                                            const Given& given) const;
  std::optional<std::string> fault_in_rule(const std::string& who, const PerRequest& request,
                                           const Given& given) const;
  std::optional<std::string> fault_in_reservation(const PrrRequest& request,
                                                  const Given& given) const;
  static Need need_of(const PrrRequest& request);
  void add(const std::string& who, const Given& given, RuleKind kind, ModelRule rule,
           std::vector<Happened>& happened);

  static Need need(const AddressTuple& own, const AddressTuple& other, bool sends_only, bool same);
  /// Is there room on that side for so many ports of that parity at one address?
  bool has_room(bool outside, std::uint8_t protocol, Need need) const;
  bool can_give(const std::string& who, bool outside, const PerRequest& request) const;

  Mode mode_;
};

}  // namespace simco::test
