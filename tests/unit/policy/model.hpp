// A plain model of the middlebox core, written for clearness: it compares all pairs and counts
// ports one by one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/policy/engine.hpp"

namespace simco::policy {

struct ModelRule {
  RuleKind kind = RuleKind::kEnable;
  std::string owner;
  std::uint32_t group = 0;
  Instant deadline;
  PerParameterSet parameters;
  AddressTuple internal;
  AddressTuple external;
  AddressTuple outside;
  std::optional<AddressTuple> inside;
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

  explicit Model(Mode mode) : mode_(mode) {}

  std::map<std::uint32_t, ModelRule> rules;
  std::map<std::uint32_t, std::string> groups;  ///< owner; may be empty of rules

  // --- Rights and rules ---

  static bool sees(const std::string& who, const std::string& owner) {
    return who == owner || who == "boss" || (who == "viewer" && owner == "a");
  }
  static bool changes(const std::string& who, const std::string& owner) {
    return who == owner || who == "boss";
  }
  static std::uint32_t rules_max(const std::string& who) { return who == "b" ? 8 : 0xFFFF'FFFF; }
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

  // --- What a NAT gives ---

  struct Need {
    unsigned ports;
    Parity parity;
  };
  bool translates() const { return mode_ != Mode::kFirewall; }
  bool is_twice_nat() const { return mode_ == Mode::kTwiceNat; }
  /// What an enable rule needs on one side.
  static Need need(bool outside, const AddressTuple& internal, const AddressTuple& external,
                   PerParameterSet parameters);
  static bool fits(const AddressTuple& given, Need need);
  /// Whether a PEA may have what the reservation `rule` holds.
  static Code check_fit(const ModelRule& rule, const PeaRequest& request);
  static bool is_shortage(Code code);
  /// Ports taken on one side, by address and port.
  std::set<std::pair<std::uint32_t, std::uint32_t>> taken(bool outside,
                                                          std::uint8_t protocol) const;
  bool has_room(std::uint8_t protocol, Need outside, Need inside) const;
  /// What enable rules of `who` have been given for the same endpoint, which a further one shares.
  std::vector<AddressTuple> bindings_of(const std::string& who, bool outside,
                                        const PerRequest& request) const;
  bool can_give(const std::string& who, const PerRequest& request) const;

 private:
  static Need need(const AddressTuple& own, const AddressTuple& other, bool sends_only, bool same);
  /// Is there room on that side for so many ports of that parity at one address?
  bool has_room(bool outside, std::uint8_t protocol, Need need) const;
  bool can_give(const std::string& who, bool outside, const PerRequest& request) const;

  Mode mode_;
};

}  // namespace simco::policy
