// Rules that have ended, as flows are looked up in them: by what the rules compare, like packets in
// the kernel's sets (tuple space search). So the time that a flow takes does not grow with the
// number of rules.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <map>
#include <vector>

#include "middlebox/backend/nftables/element.hpp"

namespace simco::backend::nftables {

class EndedRules {
 public:
  /// Adds a rule, whichever way it let traffic pass. One that is translated is known by its address
  /// and ports outside (A2) in the place of the internal ones.
  void add(const RuleChange& rule);
  bool empty() const { return sets_.empty() && intervals_.empty(); }
  void clear();
  void swap(EndedRules& other);

  /// Whether a flow between such ends is one of an untranslated rule.
  bool cover(const Ends& ends) const { return covered(ends, false); }
  /// The same of a translated rule; the internal end is the one outside.
  bool cover_translated(const Ends& ends) const { return covered(ends, true); }

 private:
  bool covered(const Ends& ends, bool translated) const;

  struct Where {
    bool translated;
    Shape shape;
    friend auto operator<=>(const Where&, const Where&) = default;
  };
  struct Interval {
    bool translated;
    Shape shape;
    Key key;
  };
  std::map<Where, absl::flat_hash_set<Key>> sets_;
  std::vector<Interval> intervals_;
  std::vector<Element> elements_;  ///< scratch
};

}  // namespace simco::backend::nftables
