// Our table in the kernel: made at the start or after others have destroyed it, given new sets, and
// removed at the end. Elements come along when the whole table is made; single ones are not its
// business.
#pragma once

#include <span>
#include <vector>

#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/backend/nftables/committer.hpp"
#include "middlebox/backend/nftables/ruleset.hpp"
#include "middlebox/backend/nftables/table_lock.hpp"
#include "middlebox/backend/nftables/table_state.hpp"

namespace simco::backend::nftables {

/// Throws std::system_error if the kernel cannot be asked.
class Table {
 public:
  /// `elements`: what the sets should have. Takes the table's lock: throws std::runtime_error if
  /// another middlebox has it.
  Table(Options& options, Committer& committer, const match::TupleSpace& elements);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Finds out what the kernel can do, and claims the table or not. Throws std::system_error if we
  /// may do nothing.
  void probe_kernel();
  /// Puts our table, with all elements, in the place of what the kernel has. Throws
  /// std::runtime_error if that is not ours to replace, or others keep changing the ruleset.
  void install();
  /// Removes the table or, from a site's, what is ours. Throws as install() does.
  void remove();

  /// Makes another set, empty, and has packets looked up in it.
  Outcome add_set(const Mask& mask);
  /// Removes sets; they must be empty, and are no longer among elements() afterwards.
  Outcome remove_sets(std::span<const Mask> idle);
  /// Takes the table as it is now for what we made, unless others have come in between.
  void remember();

  /// What the kernel has under our name, elements aside.
  TableState look();
  /// Returns true if `found` is the table as we made it.
  bool is_ours(const TableState& found) const { return found.same_frame(frame_); }
  /// Returns false if others may have changed the table or its elements since our last commit.
  bool untouched();

  /// Lets go those who have asked whose the lock is.
  void drain_lock() { lock_.drain(); }

 private:
  using Trial = void (Ruleset::*)(MessageBuffer&) const;
  /// How far the elements of all sets have been written.
  struct ElementCursor {
    match::TupleSpace::Stores::const_iterator store;
    std::size_t done = 0;  ///< of that store
  };

  bool kernel_takes(Trial trial);
  void check(const TableState& found) const;
  /// One attempt: false if others came in between.
  bool install_once(bool whatever_there_is);
  void write_frame(const TableState& found, bool whatever_there_is, MessageBuffer& batch);
  /// Every element that lives, from `cursor` on, into the open commit until that is large enough.
  void write_elements(ElementCursor& cursor);

  Options& options_;
  Committer& committer_;
  const match::TupleSpace& elements_;
  Ruleset ruleset_;
  TableLock lock_;
  TableState frame_;        ///< as we left it
  bool installed_ = false;  ///< the table is in the kernel, or was
};

}  // namespace simco::backend::nftables
