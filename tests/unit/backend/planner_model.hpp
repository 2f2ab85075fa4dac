// A plain model of which elements the kernel must have: a list of rules, gone through from the
// beginning for every question.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::backend::nftables::test {

/// The kernel's entry for a key of a set.
struct Content {
  Instant expires_at;
  match::Target target;  ///< of a translation
  friend bool operator==(const Content&, const Content&) = default;
};
/// Everything in all sets.
using Table = std::map<match::Mask, std::map<std::vector<std::byte>, Content>>;

/// A key as something that can be ordered.
std::vector<std::byte> octets_of(const match::Key& key);

struct PlannerModel {
  struct Rule {
    rule::RuleRecord record;
    std::vector<match::Element> elements;  ///< where they are
  };
  struct Set {
    match::Mask mask;
    rule::AgentId owner;  ///< the agent that brought it in
  };
  /// The expected outcome of a change: a result, or the set that it needs first.
  struct Expected {
    rule::ChangeResult result = rule::ChangeResult::kDone;
    std::optional<match::Mask> missing;
    std::vector<match::Element> elements;  ///< of the rule, if it is done
  };

  std::vector<Rule> rules;  ///< in force, in the order in which they came
  std::vector<Set> sets;

  Expected expect(const rule::RuleChange& change, bool enforceable) const;
  /// The change was done.
  void apply(const rule::RuleChange& change, const std::vector<match::Element>& elements);

  /// The expected contents of the kernel.
  Table table() const;
  /// PIDs of the rules that hold an element, in their order.
  std::vector<std::uint32_t> holders(const match::Mask& mask, const match::Key& key) const;
  bool has_set(const match::Mask& mask) const;
  bool is_empty(const match::Mask& mask) const;
  /// Whether an enable rule's own words let such packets pass, whichever way they travel.
  bool allows(const match::Ends& ends) const;

 private:
  void place(const match::Element& element, rule::AgentId owner, Expected& expected) const;
  void place_interval(const match::Element& element, rule::AgentId owner, Expected& expected) const;
  const match::Element* find(const match::Mask& mask, const match::Key& key) const;
  bool room_for(const match::Mask& mask, rule::AgentId owner) const;
};

}  // namespace simco::backend::nftables::test
