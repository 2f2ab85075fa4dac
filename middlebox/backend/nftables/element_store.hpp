// What the kernel's sets hold, as far as we put it there. Rules may say the same thing, and then
// share an element, which lives as long as the longest of them.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

#include "middlebox/backend/nftables/element.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::nftables {

/// A rule that wants an element.
struct Holder {
  PolicyRuleId pid;
  std::uint32_t owner = 0;  ///< RuleRecord::owner
  Instant until;            ///< the kernel keeps the element for it till then, and little longer
};
using Holders = absl::InlinedVector<Holder, 1>;

/// Latest end; the first Instant there is where nobody holds.
Instant last_end(const Holders& holders);

/// The elements of one set.
class ElementStore {
 public:
  /// `name`: of the set in the kernel. `maker`: whose rule was the first to need it.
  ElementStore(const Shape& shape, std::string name, std::uint32_t maker = 0)
      : shape_(shape), name_(std::move(name)), maker_(maker) {}

  const Shape& shape() const { return shape_; }
  const std::string& name() const { return name_; }
  std::uint32_t maker() const { return maker_; }
  std::size_t size() const { return first_.size(); }
  bool empty() const { return first_.empty(); }

  /// Nobody where there is no such element.
  Holders find(const Key& key) const;
  bool holds(const Key& key, PolicyRuleId pid) const;
  /// How many elements are there because of rules of `owner`. Looks at all of them.
  std::size_t count_of(std::uint32_t owner) const;
  /// One more holder. Answers who held the element before.
  Holders hold(const Key& key, const Holder& holder);
  /// Makes `holders` the holders of `key`; none: there is no such element any more.
  void set(const Key& key, const Holders& holders);

  /// Translations: what the element of `key` translates to.
  Target target(const Key& key) const;
  void set_target(const Key& key, const Target& target) { targets_.insert_or_assign(key, target); }
  /// Has the memory fetched where `key` is, or is to be.
  void prefetch(const Key& key) const { first_.prefetch(key); }
  bool has(const Key& key) const { return first_.contains(key); }

  /// Calls `act` with every key and when it ends.
  template <typename Act>
  void for_each(Act&& act) const {
    for (const auto& [key, holder] : first_) {
      const auto more = more_.find(key);
      act(key, more == more_.end() ? holder.until : last_end(find(key)));
    }
  }

 private:
  struct Hash {
    std::size_t operator()(const Key& key) const { return absl::Hash<Key>()(key); }
  };
  Shape shape_;
  std::string name_;
  std::uint32_t maker_;
  absl::flat_hash_map<Key, Holder> first_;
  std::unordered_map<Key, Holders, Hash> more_;  ///< all holders, where there are several
  absl::flat_hash_map<Key, Target> targets_;
};

}  // namespace simco::backend::nftables
