#include "middlebox/backend/nftables/ended_rules.hpp"

#include <algorithm>
#include <utility>

namespace simco::backend::nftables {

void EndedRules::add(const RuleChange& rule) {
  RuleChange filter = rule;
  const bool translated = rule.outside.has_value();
  if (translated) {
    filter.internal = *rule.outside;
    filter.internal.protocol = rule.internal.protocol;
  }
  filter.outside.reset();
  filter.inside.reset();
  filter.rule = RuleKind::kEnable;
  filter.parameters.direction = Direction::kBidirectional;
  elements_.clear();
  make_elements(filter, elements_);
  for (const Element& element : elements_) {
    if (element.shape.intervals)
      intervals_.push_back({translated, element.shape, element.key});
    else
      sets_[{translated, element.shape}].insert(element.key);
  }
}

void EndedRules::clear() {
  sets_.clear();
  intervals_.clear();
}

void EndedRules::swap(EndedRules& other) {
  sets_.swap(other.sets_);
  intervals_.swap(other.intervals_);
}

bool EndedRules::covered(const Ends& ends, bool translated) const {
  const bool in_set = std::ranges::any_of(sets_, [&](const auto& entry) {
    const auto& [where, keys] = entry;
    return where.translated == translated && where.shape.version == ends.version &&
           ports_match(where.shape, ends) && keys.contains(key_of(where.shape, ends));
  });
  if (in_set) return true;
  const Key point = point_of(ends);
  return std::ranges::any_of(intervals_, [&](const Interval& interval) {
    return interval.translated == translated && interval.shape.version == ends.version &&
           overlap(interval.key, point);
  });
}

}  // namespace simco::backend::nftables
