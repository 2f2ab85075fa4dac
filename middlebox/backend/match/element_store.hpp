// The elements of one mask, and which rules hold them. Rules may say the same thing, and then share
// an element, which lives as long as the longest of them.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <unordered_map>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/rule/rule_record.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::match {

/// A rule that wants an element.
struct Holder {
  PolicyRuleId pid;
  rule::AgentId owner;
  Instant expires_at;  ///< until when the element has to be in force for it
};
using Holders = absl::InlinedVector<Holder, 1>;

/// Returns the latest end; Instant::min() if there are no holders.
Instant last_end(const Holders& holders);

/// The elements of one mask.
class ElementStore {
 public:
  /// `introduced_by`: the owner of the rule that was the first to need this mask.
  explicit ElementStore(const Mask& mask, rule::AgentId introduced_by = {})
      : mask_(mask), introduced_by_(introduced_by) {}

  const Mask& mask() const { return mask_; }
  rule::AgentId introduced_by() const { return introduced_by_; }
  /// Elements, however many rules hold them.
  std::size_t size() const { return first_.size(); }
  bool empty() const { return first_.empty(); }

  bool has(const Key& key) const { return first_.contains(key); }
  /// Returns the holders of an element; none if it is not there.
  Holders find(const Key& key) const;
  bool holds(const Key& key, PolicyRuleId pid) const;
  /// Returns how many elements are there because of rules of `owner`. Looks at all of them.
  std::size_t count_of(rule::AgentId owner) const;
  /// Adds a holder. Returns who held the element before.
  Holders hold(const Key& key, const Holder& holder);
  /// Makes `holders` the holders of `key`; with none, the element is gone.
  void set(const Key& key, const Holders& holders);

  /// Returns what the element of `key` translates to; of a mask that translates.
  Target target(const Key& key) const;
  void set_target(const Key& key, const Target& target) { targets_.insert_or_assign(key, target); }
  /// Has the memory fetched where `key` is, or would be.
  void prefetch(const Key& key) const { first_.prefetch(key); }

  /// Calls `act(key, expires_at)` with every element.
  template <typename Act>
  void for_each(Act&& act) const {
    for (const auto& [key, holder] : first_) {
      const auto more = more_.find(key);
      act(key, more == more_.end() ? holder.expires_at : last_end(more->second));
    }
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return absl::Hash<Key>()(key); }
  };
  Mask mask_;
  rule::AgentId introduced_by_;
  absl::flat_hash_map<Key, Holder> first_;
  std::unordered_map<Key, Holders, Hash> more_;  ///< all holders, if there are several
  absl::flat_hash_map<Key, Target> targets_;
};

}  // namespace simco::backend::match
