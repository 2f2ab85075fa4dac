// Ensures that a single middlebox manages a table: two would undo each other's changes.
#pragma once

#include <string>

namespace simco::backend::nftables {

/// Returns the name, in the abstract namespace of sockets, by which a table is locked: different
/// for different tables, however long their names are.
std::string lock_name(const std::string& table);

/// Held until the process ends, however that happens.
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

}  // namespace simco::backend::nftables
