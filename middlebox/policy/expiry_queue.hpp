// Which rules end when. Rules whose lifetimes end within the same kExpiryTick share a list, so that
// the common case (many rules with the same lifetime) costs a link and no search.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

class ExpiryQueue {
 public:
  explicit ExpiryQueue(RuleTable& rules) : rules_(rules), latest_(ticks_.end()) {}

  /// Puts the rule where its expires_at belongs; it is in no list yet.
  void add(RuleSlot slot);
  /// Takes the rule out; its expires_at is what it was at add().
  void remove(RuleSlot slot);
  /// When rules are due next, if there are any.
  std::optional<Instant> next() const;
  /// A rule that is due at `now`, or kNoSlot. It stays until remove().
  RuleSlot due(Instant now) const;

 private:
  using Tick = std::int64_t;
  using Ticks = std::map<Tick, RuleList>;

  static Tick tick_of(Instant expires_at);
  static Instant start_of(Tick tick);

  RuleTable& rules_;
  Ticks ticks_;
  Ticks::iterator latest_;  ///< the list used last, or end()
};

}  // namespace simco::policy
