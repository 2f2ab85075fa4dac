// Rules in a file, by SQLite.
#pragma once

#include <memory>
#include <string>

#include "middlebox/store/store.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace simco::store {

class SqliteStore final : public Store {
 public:
  /// When a batch counts as kept.
  enum class Sync : std::uint8_t {
    kDisk,    ///< the disk has it: it survives the power
    kSystem,  ///< the system has it: it survives the process, and not always the power
  };

  /// Nothing is touched before open().
  SqliteStore(std::string path, Sync sync) : path_(std::move(path)), sync_(sync) {}
  ~SqliteStore() override;

  std::string place() const override { return path_; }
  /// Makes the file, readable by its owner alone, where there is none.
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
  /// Makes the file if need be, and sees to it that only its owner may read it.
  void make_private();
  void prepare_schema();
  /// Takes the lock, and has the log beside the file made.
  void claim();
  /// Puts the entries down, inside a transaction.
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
