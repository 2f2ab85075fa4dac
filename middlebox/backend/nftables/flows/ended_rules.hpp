// Rules that have ended, as flows are looked up in them: by what the rules compare, like packets in
// the kernel's sets (tuple space search). So the time for a flow grows neither with the number of
// rules nor with their kinds.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::backend::nftables {

using match::Element;
using match::Ends;
using match::Key;
using match::Mask;
using rule::RuleRecord;

class EndedRules {
 public:
  /// Adds a rule, whichever way it let traffic pass. A translated rule is known by its address and
  /// ports outside (A2) in the place of the internal ones. With very many or very different rules,
  /// flows of further ports and of neighbouring addresses count as theirs.
  void add(const RuleRecord& rule);
  bool empty() const { return sets_.empty() && ranges_.empty(); }
  void clear();
  void swap(EndedRules& other);

  /// Whether a flow between such ends belongs to an untranslated rule.
  bool cover(const Ends& ends) const { return covered(ends, false); }
  /// The same of a translated rule; the internal end is its outside tuple.
  bool cover_translated(const Ends& ends) const { return covered(ends, true); }
  /// Places in which a flow is looked for, at most.
  std::size_t places() const { return sets_.size() + ranges_.size(); }

 private:
  struct PortRange {
    std::uint16_t first;
    std::uint16_t last;
  };
  /// None touches another. As each has more than kPortsPerRuleMax ports, they are few.
  using PortRanges = std::vector<PortRange>;
  enum class Side : std::uint8_t { kNone, kInternal, kExternal };
  struct Where {
    bool translated;
    Side ranges;  ///< whose ports are ranges of more than kPortsPerRuleMax
    Mask mask;
    friend auto operator<=>(const Where&, const Where&) = default;
  };

  bool covered(const Ends& ends, bool translated) const;
  /// Returns false if the table is full.
  bool put(const Element& element, bool translated);
  void put_roughly(const RuleRecord& filter, bool translated);
  static void join(PortRanges& ranges, PortRange added);

  std::map<Where, absl::flat_hash_set<Key>> sets_;
  std::map<Where, absl::flat_hash_map<Key, PortRanges>> ranges_;
  std::size_t keys_ = 0;           ///< in all places
  std::vector<Element> elements_;  ///< scratch
};

}  // namespace simco::backend::nftables
