// Rules in an SQLite file, with its write-ahead log.
#pragma once

#include <memory>
#include <string>

#include "middlebox/store/store.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace simco::store {

/// One thread at a time; one process at a time.
class SqliteStore final : public Store {
 public:
  /// Nothing is touched before open().
  SqliteStore(std::string path, Sync sync) : path_(std::move(path)), sync_(sync) {}
  ~SqliteStore() override;

  std::string place() const override { return path_; }
  /// Creates the file if necessary, readable only by its owner.
  Contents open() override;
  void write(const Batch& batch) override;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  Statement prepare(const char* sql);
  void run(const char* sql);
  std::int64_t number(const char* sql);
  void step(sqlite3_stmt* statement);
  /// Creates the file if necessary, and makes it readable only by its owner.
  void make_private();
  void prepare_schema();
  /// Takes the lock and creates the log next to the file.
  void claim();
  /// Writes the entries, inside a transaction.
  void put_down(const Batch& batch);
  [[noreturn]] void fail(const std::string& what);

  std::string path_;
  Sync sync_;
  std::unique_ptr<sqlite3, Close> database_;
  Statement put_;
  Statement erase_;
  Statement count_;
};

}  // namespace simco::store
