// One middlebox to a table: two would take each other for intruders.
#pragma once

#include <string>

namespace simco::backend::nftables {

/// Held as long as the process lives, and given back by the kernel when it dies.
class TableLock {
 public:
  TableLock() = default;
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
  ~TableLock();

  /// Throws std::runtime_error when another middlebox in this network namespace has the table.
  void take(const std::string& table);

 private:
  int socket_ = -1;
};

}  // namespace simco::backend::nftables
