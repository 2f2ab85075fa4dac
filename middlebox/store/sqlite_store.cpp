// One table of rules and one of counters, in write-ahead logging mode with an exclusive lock. Each
// batch is one transaction.
#include "middlebox/store/sqlite_store.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace simco::store {
namespace {

/// "SMCO": identifies our files by the application id in their header.
constexpr std::int64_t kApplication = 0x534D'434F;
/// Version of the schema below. A later one comes with the steps that lead to it from each before.
constexpr std::int64_t kSchema = 1;
constexpr const char* kMakeSchema =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE rules (pid INTEGER PRIMARY KEY, record BLOB NOT NULL);"
    "CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "PRAGMA application_id = 1397572431;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
constexpr const char* kSetSchema = "PRAGMA user_version = 1";
static_assert(kApplication == 1397572431 && kSchema == 1, "as in kMakeSchema");

constexpr const char* kNextPid = "next_pid";
constexpr const char* kNextGid = "next_gid";

}  // namespace

void SqliteStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void SqliteStore::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SqliteStore::~SqliteStore() = default;

void SqliteStore::fail(const std::string& what) {
  const int code = database_ ? sqlite3_errcode(database_.get()) : SQLITE_NOMEM;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    throw StoreError(path_ + ": in use by another process");
  }
  throw StoreError(path_ + ": " + what + ": " +
                   (database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code)));
}

SqliteStore::Statement SqliteStore::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement,
                         nullptr) != SQLITE_OK) {
    fail("cannot be read");
  }
  return Statement(statement);
}

void SqliteStore::run(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot be used");
  }
}

std::int64_t SqliteStore::number(const char* sql) {
  const auto statement = prepare(sql);
  const int code = sqlite3_step(statement.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail("cannot be read");
  return code == SQLITE_ROW ? sqlite3_column_int64(statement.get(), 0) : 0;
}

void SqliteStore::step(sqlite3_stmt* statement) {
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  if (code != SQLITE_DONE) fail("cannot be written");
}

Contents SqliteStore::open() {
  make_private();
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path_.c_str(), &database,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);
  if (code != SQLITE_OK) fail("cannot be opened");
  // One process at a time, for as long as it runs.
  run("PRAGMA locking_mode = EXCLUSIVE");
  prepare_schema();
  run("PRAGMA journal_mode = WAL");
  // A checkpoint makes a batch wait for the disk several times, so checkpoints are rare.
  run("PRAGMA wal_autocheckpoint = 8192");
  run(sync_ == Sync::kDisk ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  // The first write takes the lock and creates the log: do it now, while we still have the right
  // to. Both are then kept.
  claim();
  put_ = prepare("INSERT OR REPLACE INTO rules (pid, record) VALUES (?1, ?2)");
  erase_ = prepare("DELETE FROM rules WHERE pid = ?1");
  count_ = prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?1, ?2)");

  Contents contents;
  const auto read = prepare("SELECT pid, record FROM rules");
  int row = sqlite3_step(read.get());
  for (; row == SQLITE_ROW; row = sqlite3_step(read.get())) {
    const auto pid = static_cast<std::uint32_t>(sqlite3_column_int64(read.get(), 0));
    const auto* octets = static_cast<const char*>(sqlite3_column_blob(read.get(), 1));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(read.get(), 1));
    contents.entries.push_back({PolicyRuleId{pid}, std::string(octets, size)});
  }
  if (row != SQLITE_DONE) fail("cannot be read");
  const auto counter = [&](const char* sql) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(number(sql), 1));
  };
  contents.counters.next_pid = counter("SELECT value FROM counters WHERE name = 'next_pid'");
  contents.counters.next_gid = counter("SELECT value FROM counters WHERE name = 'next_gid'");
  return contents;
}

// SQLite would make the file readable by all users; its log takes the mode of the file.
void SqliteStore::make_private() {
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) throw StoreError(path_ + ": " + std::strerror(errno));
  ::close(descriptor);
  for (const auto& file : {path_, path_ + "-wal"}) {
    struct stat found{};
    if (::stat(file.c_str(), &found) != 0 || (found.st_mode & 077) == 0) continue;
    if (::chmod(file.c_str(), 0600) == 0) continue;
    throw StoreError(
        file + ": readable by other users, and this cannot be changed: " + std::strerror(errno));
  }
}

void SqliteStore::claim() {
  if (sqlite3_exec(database_.get(), kSetSchema, nullptr, nullptr, nullptr) == SQLITE_OK) return;
  if (sqlite3_errcode(database_.get()) != SQLITE_FULL) fail("cannot be used");
  // The disk is full: stored rules can still be read. Writes fail until there is space.
  run("BEGIN EXCLUSIVE");
  run("ROLLBACK");
}

void SqliteStore::prepare_schema() {
  const auto application = number("PRAGMA application_id");
  const auto schema = number("PRAGMA user_version");
  if (application == 0 && schema == 0 && number("SELECT count(*) FROM sqlite_master") == 0) {
    return run(kMakeSchema);
  }
  if (application != kApplication) {
    throw StoreError(path_ + ": not a simco-middlebox database; use another file");
  }
  if (schema != kSchema) {
    throw StoreError(path_ + ": written by another version of simco-middlebox (schema " +
                     std::to_string(schema) + ", this version supports " + std::to_string(kSchema) +
                     "): run that version, or use another file and start without rules");
  }
}

void SqliteStore::write(const Batch& batch) {
  run("BEGIN IMMEDIATE");
  try {
    put_down(batch);
    run("COMMIT");
  } catch (...) {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void SqliteStore::put_down(const Batch& batch) {
  for (const auto& [pid, octets] : batch.entries) {
    auto* statement = octets.empty() ? erase_.get() : put_.get();
    sqlite3_bind_int64(statement, 1, pid.value);
    if (!octets.empty()) {
      sqlite3_bind_blob(statement, 2, octets.data(), static_cast<int>(octets.size()),
                        SQLITE_STATIC);
    }
    step(statement);
  }
  const auto count = [&](const char* name, std::uint64_t value) {
    sqlite3_bind_text(count_.get(), 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(count_.get(), 2, static_cast<std::int64_t>(value));
    step(count_.get());
  };
  count(kNextPid, batch.counters.next_pid);
  count(kNextGid, batch.counters.next_gid);
}

}  // namespace simco::store
