// All elements, mask by mask: a tuple space (see Mask). A packet is looked up once in each mask
// that is in use.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/rule/rule_change.hpp"
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

/// The elements of one mask, and the rules that hold them. Rules may say the same thing, and then
/// share an element, which lives as long as the longest of them. One that has one rule takes 79 to
/// 89 octets; in one map of Key to Holders it would take 83 to 163, and the map would move all
/// elements whenever it grows.
class ElementStore {
 public:
  /// `introduced_by`: the owner of the rule that was the first to need this mask.
  explicit ElementStore(const Mask& mask, rule::AgentId introduced_by = {})
      : mask_(mask), introduced_by_(introduced_by), places_(0, HashOf{}, IsAt{&entries_}) {}
  ElementStore(const ElementStore&) = delete;
  ElementStore& operator=(const ElementStore&) = delete;

  const Mask& mask() const { return mask_; }
  rule::AgentId introduced_by() const { return introduced_by_; }
  /// Elements, however many rules hold them.
  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

  bool has(const Key& key) const { return entry_of(key) != nullptr; }
  /// Returns the holders of an element; none if it is not there.
  Holders find(const Key& key) const;
  bool holds(const Key& key, PolicyRuleId pid) const;
  /// Returns how many elements are there because of rules of `owner`. Looks at all of them.
  std::size_t count_of(rule::AgentId owner) const;
  /// Adds a holder, whose PID is not 0. Returns the previous holders of the element.
  Holders hold(const Key& key, const Holder& holder);
  /// Makes `holders`, whose PIDs are not 0, the holders of `key`; with none, the element is gone. A
  /// new element has a single holder: others join it with hold().
  void set(const Key& key, const Holders& holders);

  /// Returns the translation of the element of `key`; of a mask that translates.
  Target target(const Key& key) const;
  void set_target(const Key& key, const Target& target) { targets_.insert_or_assign(key, target); }
  /// Has the memory fetched where `key` is looked for.
  void prefetch(const Key& key) const { places_.prefetch(wanted(key)); }

  /// Calls `act(key, expires_at)` with every element.
  template <typename Act>
  void for_each(Act&& act) const {
    for (const auto& [key, holder] : entries_) {
      if (holder.pid == PolicyRuleId{}) continue;
      const auto more = more_.find(key);
      act(key, more == more_.end() ? holder.expires_at : last_end(more->second));
    }
  }

 private:
  struct Entry {
    Key key;
    Holder holder;  ///< the first; PID 0: the entry is free
  };
  /// Where an element is. Few octets, so that the table in which elements are looked for fits into
  /// caches; and it grows without looking at the elements.
  struct Place {
    std::uint32_t hash;
    std::uint32_t entry;
  };
  /// The target of the search.
  struct Wanted {
    std::uint32_t hash;
    const Key& key;
  };
  struct HashOf {
    using is_transparent = void;
    std::size_t operator()(const Place& place) const { return place.hash; }
    std::size_t operator()(const Wanted& wanted) const { return wanted.hash; }
  };
  struct IsAt {
    using is_transparent = void;
    bool operator()(const Place& a, const Place& b) const { return a.entry == b.entry; }
    bool operator()(const Place& place, const Wanted& wanted) const {
      return place.hash == wanted.hash && (*entries)[place.entry].key == wanted.key;
    }
    const std::deque<Entry>* entries;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return absl::Hash<Key>()(key); }
  };

  static Wanted wanted(const Key& key) {
    return {static_cast<std::uint32_t>(absl::Hash<Key>()(key)), key};
  }
  /// Returns the entry of `key`, null if there is none.
  const Entry* entry_of(const Key& key) const;
  Entry* entry_of(const Key& key) { return const_cast<Entry*>(std::as_const(*this).entry_of(key)); }
  /// Returns the entry that now has these contents.
  std::uint32_t fill_entry(const Entry& contents);
  void erase(const Key& key);

  Mask mask_;
  rule::AgentId introduced_by_;
  std::deque<Entry> entries_;        ///< in the order in which they came, so that adding is cheap
  std::vector<std::uint32_t> free_;  ///< of the entries
  absl::flat_hash_set<Place, HashOf, IsAt> places_;
  std::unordered_map<Key, Holders, Hash> more_;  ///< all holders, if there are several
  absl::flat_hash_map<Key, Target> targets_;
};

/// Both ends of a translated flow, and the outside tuple of the internal end (A2).
struct Translation {
  Ends ends;
  std::array<std::byte, 16> outside{};
  std::uint16_t outside_port = 0;
  bool begun_outside = false;
};

/// Element stores by their masks.
class TupleSpace {
 public:
  using Stores = std::map<Mask, std::unique_ptr<ElementStore>>;

  /// Returns the store of `mask`, null if there is none.
  ElementStore* find(const Mask& mask);
  /// Adds an empty store for a mask that has none yet.
  ElementStore& add(const Mask& mask, rule::AgentId introduced_by);
  /// Removes the store of `mask`, which must exist and be empty.
  void remove(const Mask& mask);

  const Stores& stores() const { return stores_; }
  /// Returns all masks in use, in the order of stores().
  std::vector<Mask> masks() const;

  /// Returns whether an enable rule lets such packets pass, whichever way they travel.
  bool allows(const Ends& ends) const;
  /// Returns whether a rule translates the flow's first packet as it is translated.
  bool translates(const Translation& flow) const;
  /// Returns whether a rule translates the destination of such packets, which come from outside or
  /// from inside, and have these ends before translation.
  bool translates_destination(const Ends& ends, bool from_outside) const;

 private:
  Stores stores_;
  ElementStore* recent_ = nullptr;  ///< found last
};

}  // namespace simco::backend::match
