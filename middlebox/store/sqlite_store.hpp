// Rules in an SQLite file.
#pragma once

#include <optional>
#include <string>

#include "middlebox/store/store.hpp"
#include "simco/sqlite/database.hpp"

namespace simco::store {

/// One thread at a time; one process at a time.
class SqliteStore final : public Store {
 public:
  /// Nothing is touched before open().
  SqliteStore(std::string path, Sync sync) : path_(std::move(path)), sync_(sync) {}

  std::string place() const override { return path_; }
  /// Creates the file if necessary, readable only by its owner.
  Contents open() override;
  void write(const Batch& batch) override;

 private:
  Contents read();
  /// Writes the entries, inside a transaction.
  void put_down(const Batch& batch);

  std::string path_;
  Sync sync_;
  std::optional<sqlite::Database> database_;
  sqlite::Statement put_;
  sqlite::Statement erase_;
  sqlite::Statement count_;
};

}  // namespace simco::store
