// Opening is in exclusive locking mode and write-ahead logging mode, after a check of the file's
// contents; a failure throws SQLite's message.
#include "simco/sqlite/database.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace simco::sqlite {

// --- Statements ----------------------------------------------------------------------------------

void Statement::End::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::bind(int value, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), value, number);
}

void Statement::bind_octets(int value, std::string_view octets) {
  sqlite3_bind_blob64(statement_.get(), value, octets.data(), octets.size(), SQLITE_STATIC);
}

void Statement::bind_text(int value, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), value, text.data(), text.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void Statement::run() {
  const int code = sqlite3_step(statement_.get());
  sqlite3_reset(statement_.get());
  if (code != SQLITE_DONE) database_->fail("cannot be written");
}

bool Statement::next() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) database_->fail("cannot be read");
  return code == SQLITE_ROW;
}

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::octets(int column) const {
  const auto* octets = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  return {octets, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

// --- The database --------------------------------------------------------------------------------

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(std::string path, const Form& form, Sync sync) : path_(std::move(path)) {
  make_private();
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(path_.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail("cannot be opened");
  // One process at a time, for as long as it runs.
  run("PRAGMA locking_mode = EXCLUSIVE");
  prepare_form(form);
  run("PRAGMA journal_mode = WAL");
  // A checkpoint makes a write wait for the disk several times, so checkpoints are rare: each 32
  // MiB of log. A smaller disk that the log alone fills never recovers, as the file cannot grow.
  run("PRAGMA wal_autocheckpoint = 8192");
  run(sync == Sync::kDisk ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  // The first write takes the lock and creates the log: do it now, while we still have the right
  // to. Both are then kept.
  claim(form);
}

void Database::fail(const std::string& what) const {
  const int code = handle_ ? sqlite3_errcode(handle_.get()) : SQLITE_NOMEM;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    throw Error(path_ + ": in use by another process");
  }
  throw Error(path_ + ": " + what + ": " +
              (handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code)));
}

Statement Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
      SQLITE_OK) {
    fail("cannot be read");
  }
  Statement result;
  result.database_ = this;
  result.statement_.reset(statement);
  return result;
}

void Database::run(const char* sql) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail("cannot be used");
  }
}

std::int64_t Database::number(const char* sql) {
  auto statement = prepare(sql);
  return statement.next() ? statement.number(0) : 0;
}

void Database::roll_back() noexcept {
  sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  // The log itself may fill the disk, and only a successful write would shorten it.
  sqlite3_wal_checkpoint_v2(handle_.get(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
}

// SQLite would make the file readable by all users; its log takes the mode of the file.
void Database::make_private() {
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) throw Error(path_ + ": " + std::strerror(errno));
  ::close(descriptor);
  for (const auto& file : {path_, path_ + "-wal"}) {
    struct stat found{};
    if (::stat(file.c_str(), &found) != 0 || (found.st_mode & 077) == 0) continue;
    if (::chmod(file.c_str(), 0600) == 0) continue;
    throw Error(file +
                ": readable by other users, and this cannot be changed: " + std::strerror(errno));
  }
}

void Database::claim(const Form& form) {
  const auto write = fmt::format("PRAGMA user_version = {}", form.schema);
  if (sqlite3_exec(handle_.get(), write.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return;
  if (sqlite3_errcode(handle_.get()) != SQLITE_FULL) fail("cannot be used");
  // The disk is full: stored data can still be read. Writes fail until there is space.
  run("BEGIN EXCLUSIVE");
  run("ROLLBACK");
}

void Database::prepare_form(const Form& form) {
  const auto application = number("PRAGMA application_id");
  const auto schema = number("PRAGMA user_version");
  if (application == 0 && schema == 0 && number("SELECT count(*) FROM sqlite_master") == 0) {
    return run(fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id = {}; "
                           "PRAGMA user_version = {}; COMMIT",
                           form.tables, form.application, form.schema)
                   .c_str());
  }
  if (application != form.application) {
    throw Error(fmt::format("{}: not a {} database; use another file", path_, form.program));
  }
  if (schema != form.schema) {
    throw Error(
        fmt::format("{}: written by another version of {} (schema {}, this version supports {}): "
                    "run that version, or use another file and start without {}",
                    path_, form.program, schema, form.schema, form.contents));
  }
}

}  // namespace simco::sqlite
