// Decides which elements of which sets a change of a rule adds, renews and removes, and whether
// there is room for them. Pure: no netlink, no clock, no I/O.
//
// The planner's stores hold the kernel's future contents, with the planned operations carried out.
// They change while a commit is planned; then the operations are sent, and either accepted or
// undone. So at most a single commit is open:
//
//   begin_batch -> plan -> accept                  the kernel has done it: plan the next batch
//                       -> undo, [refuse], plan    it has not: again, without the faulty change
//                       -> missing -> undo, add_set or refuse, plan
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/rule/rule_change.hpp"
#include "simco/wire/assert.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::nftables {

using match::ElementStore;
using match::Holders;
using match::Key;
using match::Target;

/// A change of an element: its holders before and after.
struct Operation {
  ElementStore* store;  ///< of the element's set
  Key key;
  Target target;  ///< of a translation
  Holders before;
  Holders after;             ///< the first PID becomes the element's comment
  std::uint32_t change = 0;  ///< for which change of the batch
  bool uncertain = false;    ///< whether the kernel still has the element is not known
};

/// Elements as the kernel has them: octets of the key, followed by those of its end if the set has
/// intervals.
using SetKeys = absl::flat_hash_set<std::string>;
/// Returns such octets of an element of the set of `mask`.
std::string octets_of(const match::Mask& mask, const Key& key);
/// Elements of a set that have changed while it was read.
using TouchedKeys = absl::flat_hash_set<Key>;

/// A key as octets of a message.
struct RawKey {
  std::string key;
  std::string end;  ///< of an interval
};

/// How a set in the kernel differs after others have changed it.
struct Drift {
  std::vector<Operation> missing;  ///< to be added
  std::vector<RawKey> foreign;     ///< to be removed
};

/// Returns how `in_kernel`, which was read until `now`, differs from `store`. Elements that are
/// `touched`, or about to end, may be there or not.
Drift compare(ElementStore& store, SetKeys in_kernel, const TouchedKeys& touched, Instant now);

using match::Element;
using match::Mask;
using match::TupleSpace;
using rule::ChangeResult;
using rule::RuleChange;

/// A set that has to be made before a change can be planned.
struct MissingSet {
  Mask mask;
  rule::AgentId owner;  ///< of the rule that needs it
};

class ElementPlanner {
 public:
  explicit ElementPlanner(match::PortPairs pairs = match::PortPairs::kTogether) : pairs_(pairs) {}
  ElementPlanner(const ElementPlanner&) = delete;
  ElementPlanner& operator=(const ElementPlanner&) = delete;

  // --- A batch

  /// Begins with a batch, which must stay valid until the next begins. No commit may be open.
  void begin_batch(std::span<const RuleChange> batch);
  /// Plans a commit: the changes from `begin` on, until it is large enough or `end` is reached.
  /// Returns where it stopped: behind the last change that is in the commit, or at the change that
  /// needs a set which is missing(); then the commit can only be undone. `now` is when sets become
  /// empty. With `enforceable` false the table is missing: changes that add elements are refused.
  std::uint32_t plan(std::uint32_t begin, std::uint32_t end, Instant now, bool enforceable);
  const std::optional<MissingSet>& missing() const { return missing_; }
  /// The open commit, in the order in which each element's operations have to be carried out.
  std::span<const Operation> operations() const { return operations_; }
  /// The open commit has taken effect.
  void accept();
  /// The open commit has not taken effect: everything is as before plan().
  void undo();
  /// The change must not be planned, but has this result. Not while a commit is open.
  void refuse(std::uint32_t change, ChangeResult result);
  /// The kernel may have lost elements of the change: its operations say so from now on.
  void mark_uncertain(std::uint32_t change);
  /// The outcome of each change of the batch, as far as it has been planned.
  std::span<const ChangeResult> results() const { return results_; }

  // --- Sets

  /// There is a set now, empty.
  void add_set(const MissingSet& set, Instant now);
  /// The set, which is empty, is gone.
  void remove_set(const Mask& mask);
  /// Returns the sets that have been empty since `empty_since` or longer.
  std::vector<Mask> idle_sets(Instant empty_since);
  const TupleSpace& elements() const { return elements_; }
  /// Calls `act(store, element)` with each element that a rule in force has, translations aside.
  template <typename Act>
  void for_each_element(const rule::RuleRecord& rule, Act&& act) {
    SIMCO_ASSERT(operations_.empty() && !missing_);
    place_all(rule);
    for (const auto& [store, element] : placed_) act(*store, element);
  }

  // --- The start

  /// Plans rules that were granted before a restart, whichever sets they were in, and accepts them:
  /// the table has to be written whole. Call before any batch. results() has an entry for each
  /// rule.
  void recover(std::span<const RuleChange> rules, Instant now);

 private:
  /// The elements of a change, in prepared_elements_.
  struct Prepared {
    std::size_t begin;
    std::size_t end;
    bool possible;
  };

  void prepare(std::span<const RuleChange> changes);
  ChangeResult plan_change(std::uint32_t index, const Prepared& prepared, Instant now,
                           bool enforceable);
  void recover_large_range(std::uint32_t index, Instant now);

  // Where the elements of a change are to go, or are: into placed_.
  ChangeResult place_new(const Element& element, rule::AgentId owner);
  /// The same for an element whose mask gets no set.
  ChangeResult place_as_intervals(const Element& element, rule::AgentId owner);
  ChangeResult place_interval(const Element& element, rule::AgentId owner);
  void place_all(const rule::RuleRecord& rule);
  void place_old(std::span<const Element> elements, PolicyRuleId pid);
  ChangeResult need_set(const Mask& mask, rule::AgentId owner);
  /// Returns whether there may be another set like that, for a rule of `owner`.
  bool room_for(const Mask& mask, rule::AgentId owner) const;

  void add_holder(ElementStore& store, const Element& element, const match::Holder& holder,
                  std::uint32_t index);
  void replace_holder(ElementStore& store, const Element& element, const match::Holder& holder,
                      bool removes, std::uint32_t index);
  /// The store has just changed its entry for the element.
  void note_change(ElementStore& store, const Element& element, Instant now);

  match::PortPairs pairs_;
  TupleSpace elements_;
  std::map<Mask, Instant> empty_since_;  ///< every empty set, and some that are empty no more
  bool recovering_ = false;              ///< rules that were granted before are planned

  // Of the batch, by change
  std::span<const RuleChange> batch_;
  std::vector<ChangeResult> results_;
  std::vector<std::optional<ChangeResult>> decided_;  ///< without being planned again
  std::vector<bool> uncertain_;

  // Of the open commit
  std::vector<Operation> operations_;
  std::optional<MissingSet> missing_;

  // Scratch
  std::vector<Element> prepared_elements_;
  std::vector<Prepared> prepared_;
  std::vector<std::pair<ElementStore*, Element>> placed_;
};

}  // namespace simco::backend::nftables
