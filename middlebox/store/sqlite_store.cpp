// A table of rules and a table of counters. Each batch is a transaction.
#include "middlebox/store/sqlite_store.hpp"

#include <algorithm>

namespace simco::store {
namespace {

constexpr sqlite::Form kForm = {
    .program = "simco-middlebox",
    .contents = "rules",
    .application = 0x534D'434F,  // "SMCO"
    // A later version comes with the steps that lead to it from each before.
    .schema = 1,
    .tables =
        "CREATE TABLE rules (pid INTEGER PRIMARY KEY, record BLOB NOT NULL);"
        "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) "
        "WITHOUT ROWID;",
};

constexpr const char* kNextPid = "next_pid";
constexpr const char* kNextGid = "next_gid";

}  // namespace

Contents SqliteStore::open() {
  try {
    database_.emplace(path_, kForm,
                      sync_ == Sync::kDisk ? sqlite::Sync::kDisk : sqlite::Sync::kProcess);
    put_ = database_->prepare("INSERT OR REPLACE INTO rules (pid, record) VALUES (?1, ?2)");
    erase_ = database_->prepare("DELETE FROM rules WHERE pid = ?1");
    count_ = database_->prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?1, ?2)");
    return read();
  } catch (const sqlite::Error& error) {
    throw StoreError(error.what());
  }
}

Contents SqliteStore::read() {
  Contents contents;
  auto row = database_->prepare("SELECT pid, record FROM rules");
  while (row.next()) {
    const auto pid = static_cast<std::uint32_t>(row.number(0));
    contents.entries.push_back({PolicyRuleId{pid}, std::string(row.octets(1))});
  }
  const auto counter = [&](const char* sql) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(database_->number(sql), 1));
  };
  contents.counters.next_pid = counter("SELECT value FROM counters WHERE name = 'next_pid'");
  contents.counters.next_gid = counter("SELECT value FROM counters WHERE name = 'next_gid'");
  return contents;
}

void SqliteStore::write(const Batch& batch) {
  try {
    database_->run("BEGIN IMMEDIATE");
    put_down(batch);
    database_->run("COMMIT");
  } catch (const sqlite::Error& error) {
    const StoreError failure(error.what());
    database_->roll_back();
    throw failure;
  }
}

void SqliteStore::put_down(const Batch& batch) {
  for (const auto& [pid, octets] : batch.entries) {
    auto& statement = octets.empty() ? erase_ : put_;
    statement.bind(1, pid.value);
    if (!octets.empty()) statement.bind_octets(2, octets);
    statement.run();
  }
  const auto count = [&](const char* name, std::uint64_t value) {
    count_.bind_text(1, name);
    count_.bind(2, static_cast<std::int64_t>(value));
    count_.run();
  };
  count(kNextPid, batch.counters.next_pid);
  count(kNextGid, batch.counters.next_gid);
}

}  // namespace simco::store
