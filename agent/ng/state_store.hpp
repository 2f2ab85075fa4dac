// The calls in an SQLite file, so that they survive a restart of simco-ng.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "agent/ng/call_codec.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace simco::ng {

/// A sentence that says what is wrong with the file.
struct StateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One process at a time; for one thread. A write survives a crash of the process, and is lost at
/// most if the machine crashes.
class StateStore {
 public:
  /// Opens the file and creates it if necessary, readable only by its owner. Throws StateError.
  explicit StateStore(const std::string& path);
  ~StateStore();
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  /// Returns the calls. What cannot be read is left out, and counted in `lost`. Throws StateError.
  std::vector<Call> calls(Moment now, std::size_t& lost);
  /// Throws StateError.
  void put(const Call& call, Moment now);
  void erase(const std::string& call_id);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  Statement prepare(const char* sql);
  void run(const char* sql);
  int number(const char* sql);
  void step(sqlite3_stmt* statement);
  [[noreturn]] void fail();

  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
  Statement put_;
  Statement erase_;
};

}  // namespace simco::ng
