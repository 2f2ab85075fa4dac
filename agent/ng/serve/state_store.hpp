// The calls in an SQLite file, so that they survive a restart of simco-ng.
#pragma once

#include <string>
#include <vector>

#include "agent/ng/call/call_codec.hpp"
#include "simco/sqlite/database.hpp"

namespace simco::ng {

/// One process at a time; for one thread. A write survives a crash of the process, and is lost at
/// most if the machine crashes.
class StateStore {
 public:
  /// Opens the file and creates it if necessary, readable only by its owner. Throws sqlite::Error.
  explicit StateStore(const std::string& path);

  /// Returns the calls. Unreadable calls are left out, and counted in `lost`. Throws
  /// sqlite::Error.
  std::vector<Call> calls(Moment now, std::size_t& lost);
  /// Throws sqlite::Error.
  void put(const Call& call, Moment now);
  void erase(const std::string& call_id);

  /// Rules that must end, and whose end is not certain; as calls().
  std::vector<KeptRule> unended(std::size_t& lost);
  /// Throws sqlite::Error.
  void put_unended(const KeptRule& rule);
  void erase_unended(PolicyRuleId pid);

 private:
  sqlite::Database database_;
  sqlite::Statement put_;
  sqlite::Statement erase_;
  sqlite::Statement put_unended_;
  sqlite::Statement erase_unended_;
};

}  // namespace simco::ng
