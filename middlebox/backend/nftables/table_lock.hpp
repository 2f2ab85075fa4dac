// One middlebox to a table: two would take each other for intruders.
#pragma once

#include <string>

namespace simco::backend::nftables {

/// Returns the name, in the abstract namespace of sockets, by which a table is locked: different
/// for different tables, however long their names are.
std::string lock_name(const std::string& table);

/// Held as long as the process lives, and given back by the kernel when it dies.
class TableLock {
 public:
  TableLock() = default;
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
  ~TableLock();

  /// Throws std::runtime_error when another middlebox in this network namespace has the table. Any
  /// user can take the lock's name, so what counts is who has it: a process that could not change
  /// the table anyway is ignored, with a warning, and the lock is then not held.
  void take(const std::string& table);
  /// Lets go those who have asked whose the lock is. To be called now and then: any user can ask,
  /// and with a full queue the next middlebox would not be told.
  void drain();

 private:
  int socket_ = -1;
};

}  // namespace simco::backend::nftables
