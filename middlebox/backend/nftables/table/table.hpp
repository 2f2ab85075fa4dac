// Our table in the kernel: created at the start or after others have destroyed it, extended by
// sets, and removed at the end. It writes elements only when it creates the whole table.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/backend/nftables/committer.hpp"
#include "middlebox/backend/nftables/guard.hpp"
#include "middlebox/backend/nftables/table/ruleset.hpp"

namespace simco::backend::nftables {

/// Returns the name, in the abstract namespace of sockets, by which a table is locked: different
/// for different tables, however long their names are.
std::string lock_name(const std::string& table);

/// Ensures that a single middlebox manages a table: two would undo each other's changes. Held until
/// the process ends, however that happens.
class TableLock {
 public:
  TableLock() = default;
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
  ~TableLock();

  /// Throws std::runtime_error when another middlebox in this network namespace has the table. Any
  /// user can take the lock's name, so the holder counts: a process that could not change the table
  /// anyway is ignored, with a warning, and the lock is then not held.
  void take(const std::string& table);
  /// Releases the programs that have asked for the lock's holder. Must be called now and then: any
  /// user can ask, and if the queue is full the next middlebox is not told.
  void drain();

 private:
  int socket_ = -1;
};

/// Throws std::system_error if the kernel cannot be asked.
class Table {
 public:
  /// `elements`: the intended contents of the sets. Takes the table's lock: throws
  /// std::runtime_error if another middlebox has it.
  Table(Options& options, Committer& committer, const match::TupleSpace& elements);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Finds the kernel's abilities, and decides whether to claim the table. Throws std::system_error
  /// if we lack the rights.
  void probe_kernel();
  /// Replaces the kernel's table with ours and all elements. Throws std::runtime_error if that is
  /// not ours to replace, or others keep changing the ruleset; at first also if a guard would cut
  /// an administrator's connection that `lets_pass` does not know.
  void install(const LetsPass& lets_pass = {});
  /// Removes the table or, from a site's, our part. Throws as install() does.
  void remove();

  /// Creates the lease and the rules that ask for it, if they are not there, or removes them, as
  /// the options say.
  Outcome change_lease();
  /// Has the lease last for `left`, as write_lease() does.
  Outcome set_lease(std::chrono::milliseconds left);
  /// Creates another set, empty, and the rules that look packets up in it.
  Outcome add_set(const Mask& mask);
  /// Removes sets; they must be empty, and are no longer among elements() afterwards.
  Outcome remove_sets(std::span<const Mask> idle);
  /// Remembers the table as it is now as ours, unless others have changed it in between.
  void remember();

  /// The kernel's contents under our name, elements aside.
  TableState look();
  /// Returns true if `found` is the table as we made it.
  bool is_ours(const TableState& found) const { return found.same_frame(frame_); }
  /// Returns false if others may have changed the table or its elements since our last commit.
  bool untouched();

  /// Releases the programs that have asked for the lock's holder.
  void drain_lock() { lock_.drain(); }

 private:
  using Trial = void (Ruleset::*)(MessageBuffer&) const;
  /// How far the elements of all sets have been written.
  struct ElementCursor {
    match::TupleSpace::Stores::const_iterator store;
    std::size_t done = 0;  ///< of that store
  };

  bool kernel_takes(Trial trial);
  void decide_on_tracking();
  void check(const TableState& found) const;
  /// Throws std::runtime_error if the first install() would cut an administrator's connection.
  void spare_administrators(const TableState& found, const LetsPass& lets_pass) const;
  /// An attempt: false if others came in between.
  bool install_once(bool whatever_there_is, const LetsPass& lets_pass);
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
