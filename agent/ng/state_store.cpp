// A table with a row for each call.
#include "agent/ng/state_store.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace simco::ng {
namespace {

/// "SNgC", in the file's header: SQLite's application_id.
constexpr int kApplication = 0x534E6743;
constexpr int kSchema = 1;

void bind_octets(sqlite3_stmt* statement, int index, const std::string& octets) {
  sqlite3_bind_blob(statement, index, octets.data(), static_cast<int>(octets.size()),
                    SQLITE_STATIC);
}

}  // namespace

void StateStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }
void StateStore::Close::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

StateStore::StateStore(const std::string& path) : path_(path) {
  // SQLite would make the file readable by all users.
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) throw StateError(path + ": " + std::strerror(errno));
  ::close(descriptor);
  sqlite3* database = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr);
  database_.reset(database);
  if (result != SQLITE_OK) fail();
  run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  const int application = number("PRAGMA application_id");
  const int schema = number("PRAGMA user_version");
  if (application == 0 && schema == 0 && number("SELECT count(*) FROM sqlite_master") == 0) {
    run("BEGIN EXCLUSIVE; CREATE TABLE calls(id BLOB PRIMARY KEY, document BLOB NOT NULL) STRICT, "
        "WITHOUT ROWID; PRAGMA application_id = 1397647171; PRAGMA user_version = 1; COMMIT");
  } else if (application != kApplication || schema != kSchema) {
    throw StateError(path + ": not a database of this version of simco-ng; use another file");
  }
  put_ = prepare("INSERT OR REPLACE INTO calls(id, document) VALUES(?1, ?2)");
  erase_ = prepare("DELETE FROM calls WHERE id = ?1");
}

StateStore::~StateStore() = default;

void StateStore::fail() { throw StateError(path_ + ": " + sqlite3_errmsg(database_.get())); }

StateStore::Statement StateStore::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql, -1, &statement, nullptr) != SQLITE_OK) fail();
  return Statement(statement);
}

void StateStore::run(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

int StateStore::number(const char* sql) {
  const auto statement = prepare(sql);
  if (sqlite3_step(statement.get()) != SQLITE_ROW) fail();
  return sqlite3_column_int(statement.get(), 0);
}

void StateStore::step(sqlite3_stmt* statement) {
  const int result = sqlite3_step(statement);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (result != SQLITE_DONE) fail();
}

std::vector<Call> StateStore::calls(Moment now, std::size_t& lost) {
  std::vector<Call> result;
  const auto read = prepare("SELECT document FROM calls");
  int row = sqlite3_step(read.get());
  for (; row == SQLITE_ROW; row = sqlite3_step(read.get())) {
    const auto* octets = static_cast<const std::uint8_t*>(sqlite3_column_blob(read.get(), 0));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(read.get(), 0));
    try {
      result.push_back(read_call(nlohmann::json::from_cbor(octets, octets + size), now));
    } catch (const std::exception&) {
      ++lost;
    }
  }
  if (row != SQLITE_DONE) fail();
  return result;
}

void StateStore::put(const Call& call, Moment now) {
  std::string document;
  nlohmann::json::to_cbor(write_call(call, now), document);
  bind_octets(put_.get(), 1, call.id);
  bind_octets(put_.get(), 2, document);
  step(put_.get());
}

void StateStore::erase(const std::string& call_id) {
  bind_octets(erase_.get(), 1, call_id);
  step(erase_.get());
}

}  // namespace simco::ng
