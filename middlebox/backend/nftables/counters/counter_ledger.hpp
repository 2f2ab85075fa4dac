// The counts of elements: the kernel's counters, which begin at 0 whenever an element is written,
// added up over the life of each element. Pure.
//
// A renewal removes an element and adds it again in a commit; the kernel reports the count at the
// removal. Without such a report, because another program has removed the element or the whole
// table, the count continues from the last reading, and is complete from then on only.
//
// Equal rules share an element. A rule that joins it later has the counts from then on, so the
// earlier count is kept for that rule.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::backend::nftables {

using match::ElementStore;
using match::Key;

/// An element of a set.
struct ElementId {
  const ElementStore* store = nullptr;
  Key key;

  friend bool operator==(const ElementId&, const ElementId&) = default;
  template <typename H>
  friend H AbslHashValue(H state, const ElementId& id) {
    return H::combine(std::move(state), id.store, id.key);
  }
};

class CounterLedger {
 public:
  /// An element and its count.
  struct Account {
    ElementId id;
    PacketCount before;   ///< of the kernel's counters that it had earlier
    PacketCount counter;  ///< of the current element, as read at `read_at`
    std::optional<rule::PacketTime> last_packet;
    Instant complete_since;
    Instant read_at;

    PacketCount total() const { return PacketCount(before) += counter; }
  };

  /// The counts of an element for one of its rules.
  struct Share {
    PacketCount count;
    std::optional<rule::PacketTime> last_packet;
    Instant complete_since;
    Instant read_at;
  };

  /// The table was created with all elements of `elements`, whose counters are at 0.
  void restart(const match::TupleSpace& elements, Instant now);
  /// The element was added at `now`.
  void add(const ElementId& id, Instant now);
  void remove(const ElementId& id);
  /// Another rule has the element as well, since `now`; its counter has just been read.
  void join(const ElementId& id, PolicyRuleId pid, Instant now);
  /// The rule no longer has the element, which others still have.
  void leave(const ElementId& id, PolicyRuleId pid);
  /// The element was removed when its counter was `counter`, and added again.
  void renew(const ElementId& id, const PacketCount& counter, Instant now);
  /// The element's counter is at 0 again; its last value is unknown.
  void lose(const ElementId& id, Instant now);
  /// The kernel has reported the element's counter.
  void read(const ElementId& id, const PacketCount& counter, Instant now);

  /// Returns null if there is no such element.
  const Account* find(const ElementId& id) const;
  /// Returns nullopt if there is no such element.
  std::optional<Share> share_of(const ElementId& id, PolicyRuleId pid) const;
  std::size_t size() const { return accounts_.size(); }
  /// All accounts. Which has which number changes when elements are removed.
  const Account& operator[](std::size_t index) const { return accounts_[index]; }

 private:
  /// A rule that has come to an element of others.
  struct Joined {
    PolicyRuleId pid;
    PacketCount before;
    Instant since;
  };

  Account* account(const ElementId& id);

  std::vector<Account> accounts_;
  absl::flat_hash_map<ElementId, std::size_t> index_;
  absl::flat_hash_map<ElementId, std::vector<Joined>> joined_;
};

}  // namespace simco::backend::nftables
