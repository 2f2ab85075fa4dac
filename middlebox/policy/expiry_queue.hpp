// Rules by the end of their lifetimes. Rules whose lifetimes end within the same kExpiryTick share
// a list, so that the common case (many rules with the same lifetime) costs a link and no search.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "middlebox/policy/rule_table.hpp"

namespace simco::policy {

/// Finds the rules that are due. Not thread-safe.
class ExpiryQueue {
 public:
  explicit ExpiryQueue(RuleTable& rules) : rules_(rules), latest_(ticks_.end()) {}

  std::size_t size() const { return size_; }
  /// Adds the rule, by its expires_at; it must not be in the queue.
  void add(RuleSlot slot);
  /// Adds the rule as if its lifetime had just ended; it is due at once.
  void add_ended(RuleSlot slot, Instant now);
  /// Adds a rule whose end has failed, to be due at `retry_at`; its expires_at stays.
  void add_again(RuleSlot slot, Instant retry_at);
  /// Removes the rule; its expires_at must be that of add().
  void remove(RuleSlot slot);
  /// Returns when rules are due next, or nullopt if the queue is empty.
  std::optional<Instant> next() const;
  /// Returns a rule that is due at `now`, or kNoSlot. It stays in the queue until remove().
  RuleSlot due(Instant now) const;

 private:
  using Tick = std::int64_t;
  using Ticks = std::map<Tick, RuleList>;

  void add_at(Tick tick, RuleSlot slot);
  static Tick tick_of(Instant expires_at);
  static Instant start_of(Tick tick);

  RuleTable& rules_;
  Ticks ticks_;
  Ticks::iterator latest_;                    ///< the list used last, or end()
  std::unordered_map<RuleSlot, Tick> again_;  ///< those of add_again()
  std::size_t size_ = 0;
};

}  // namespace simco::policy
