#include "tests/unit/backend/planner_model.hpp"

#include <algorithm>
#include <cstring>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables::test {

using match::Element;
using match::Key;
using match::Mask;
using rule::ChangeResult;
using rule::RuleChange;
using rule::RuleKind;

std::vector<std::byte> octets_of(const Key& key) {
  std::vector<std::byte> octets(sizeof key);
  std::memcpy(octets.data(), &key, sizeof key);
  return octets;
}

PlannerModel::Expected PlannerModel::expect(const RuleChange& change, bool enforceable) const {
  Expected expected;
  const auto& record = change.rule();
  if (record.kind == RuleKind::kReserve || change.kind == RuleChange::Kind::kRemove) {
    return expected;
  }
  if (!enforceable) return {ChangeResult::kRefused, {}, {}};
  if (change.kind == RuleChange::Kind::kSetLifetime) return expected;
  std::vector<Element> elements;
  if (!match::make_elements(record, elements)) return {ChangeResult::kRefused, {}, {}};
  for (const Element& element : elements) {
    place(element, record.owner, expected);
    if (expected.result != ChangeResult::kDone || expected.missing) break;
  }
  return expected;
}

void PlannerModel::place(const Element& element, rule::AgentId owner, Expected& expected) const {
  if (element.mask.intervals) return place_interval(element, owner, expected);
  if (has_set(element.mask)) {
    const auto* other = find(element.mask, element.key);
    const bool agrees = other == nullptr || other->target == element.target;
    if (!agrees) expected.result = ChangeResult::kRefused;
    expected.elements.push_back(element);
  } else if (room_for(element.mask, owner)) {
    expected.missing = element.mask;
  } else if (element.mask.translates()) {
    expected.result = ChangeResult::kNoResources;
  } else {
    std::vector<Element> intervals;
    match::add_intervals(element, intervals);
    for (const Element& interval : intervals) {
      place_interval(interval, owner, expected);
      if (expected.result != ChangeResult::kDone || expected.missing) return;
    }
  }
}

void PlannerModel::place_interval(const Element& element, rule::AgentId owner,
                                  Expected& expected) const {
  if (!has_set(element.mask)) {
    expected.missing = element.mask;
    return;
  }
  if (find(element.mask, element.key) == nullptr) {
    // The elements in place, by first holder, and those of the same rule.
    std::map<std::vector<std::byte>, rule::AgentId> there;
    bool overlaps = false;
    for (const Rule& rule : rules) {
      for (const Element& other : rule.elements) {
        if (other.mask != element.mask) continue;
        there.try_emplace(octets_of(other.key), rule.record.owner);
        overlaps |= overlap(other.key, element.key);
      }
    }
    for (const Element& other : expected.elements) {
      if (other.mask == element.mask) there.try_emplace(octets_of(other.key), owner);
    }
    const auto own = static_cast<std::size_t>(
        std::ranges::count_if(there, [owner](const auto& entry) { return entry.second == owner; }));
    const auto free = kIntervalsMax - std::min(kIntervalsMax, there.size());
    if (own >= free) {
      expected.result = ChangeResult::kNoResources;
    } else if (overlaps) {
      expected.result = ChangeResult::kRefused;
    }
  }
  expected.elements.push_back(element);
}

void PlannerModel::apply(const RuleChange& change, const std::vector<Element>& elements) {
  const auto& record = change.rule();
  const auto rule = std::ranges::find(rules, record.pid,
                                      [](const Rule& candidate) { return candidate.record.pid; });
  switch (change.kind) {
    case RuleChange::Kind::kAdd:
    case RuleChange::Kind::kReplace:
      if (record.kind != RuleKind::kReserve) rules.push_back({record, elements});
      break;
    case RuleChange::Kind::kSetLifetime:
      if (rule != rules.end()) rule->record = record;
      break;
    case RuleChange::Kind::kRemove:
      if (rule != rules.end()) rules.erase(rule);
      break;
  }
}

Table PlannerModel::table() const {
  Table table;
  for (const Set& set : sets) table[set.mask];
  for (const Rule& rule : rules) {
    for (const auto& [mask, key, target] : rule.elements) {
      const auto [content, added] =
          table[mask].try_emplace(octets_of(key), Content{rule.record.expires_at, target});
      auto& expires_at = content->second.expires_at;
      expires_at = std::max(expires_at, rule.record.expires_at);
    }
  }
  return table;
}

std::vector<std::uint32_t> PlannerModel::holders(const Mask& mask, const Key& key) const {
  std::vector<std::uint32_t> result;
  for (const Rule& rule : rules) {
    const bool holds = std::ranges::any_of(rule.elements, [&](const Element& element) {
      return element.mask == mask && element.key == key;
    });
    if (holds) result.push_back(rule.record.pid.value);
  }
  return result;
}

const Element* PlannerModel::find(const Mask& mask, const Key& key) const {
  for (const Rule& rule : rules) {
    for (const Element& element : rule.elements) {
      if (element.mask == mask && element.key == key) return &element;
    }
  }
  return nullptr;
}

bool PlannerModel::has_set(const Mask& mask) const {
  return std::ranges::find(sets, mask, &Set::mask) != sets.end();
}

bool PlannerModel::is_empty(const Mask& mask) const {
  return std::ranges::none_of(rules, [&](const Rule& rule) {
    return std::ranges::find(rule.elements, mask, &Element::mask) != rule.elements.end();
  });
}

bool PlannerModel::room_for(const Mask& mask, rule::AgentId owner) const {
  if (is_common(mask)) return true;
  std::size_t used = 0;
  std::size_t own = 0;
  for (const Set& set : sets) {
    const bool counts = !set.mask.intervals && set.mask.purpose == mask.purpose &&
                        set.mask.version == mask.version && !is_common(set.mask);
    used += counts ? 1 : 0;
    own += counts && set.owner == owner ? 1 : 0;
  }
  return used + own < kMasksMax;
}

// --- The packets of rules, from their tuples ----------------------------------------------------

namespace {

bool address_matches(const AddressTuple& tuple, const std::array<std::byte, 16>& address) {
  const auto prefix = prefix_of(tuple);
  return masked({tuple.ip_version, address}, prefix.length) == prefix.address;
}

/// How many ports a side of a rule names; 0: any.
std::uint32_t ports_of(const AddressTuple& tuple) {
  return has_ports(tuple) ? tuple.port_range : 0;
}

bool says(const rule::RuleRecord& rule, const match::Ends& ends) {
  const AddressTuple& internal = rule.internal;
  const AddressTuple& external = rule.external;
  if (internal.ip_version != ends.version) return false;
  if (internal.protocol != kProtocolAny && internal.protocol != ends.protocol) return false;
  if (!address_matches(internal, ends.internal)) return false;
  if (!address_matches(external, ends.external)) return false;
  const auto internal_ports = ports_of(internal);
  const auto external_ports = ports_of(external);
  const auto internal_nth = static_cast<std::uint32_t>(ends.internal_port) - internal.port;
  const auto external_nth = static_cast<std::uint32_t>(ends.external_port) - external.port;
  if (internal_ports != 0 && internal_nth >= internal_ports) return false;
  if (external_ports != 0 && external_nth >= external_ports) return false;
  return internal_ports == 0 || external_ports == 0 || internal_nth == external_nth;
}

}  // namespace

bool PlannerModel::allows(const match::Ends& ends) const {
  return std::ranges::any_of(rules, [&](const Rule& rule) {
    return rule.record.kind == RuleKind::kEnable && says(rule.record, ends);
  });
}

}  // namespace simco::backend::nftables::test
