// An SQLite file of ours, which one process at a time has, with its write-ahead log.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace simco::sqlite {

/// A sentence with the file's name and the error.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The file of a program.
struct Form {
  const char* program;       ///< such as "simco-middlebox"
  const char* contents;      ///< the user's word for the contents, such as "rules"
  std::int64_t application;  ///< identifies the program's files, in their header
  std::int64_t schema;       ///< version of the tables
  const char* tables;        ///< the statements that make them
};

/// When a write that has returned survives.
enum class Sync : std::uint8_t {
  kProcess,  ///< a crash of the process, but maybe not of the machine
  kDisk,     ///< also a crash of the machine
};

class Database;

/// A prepared statement, which ends before its database. Values are numbered from 1, columns from
/// 0.
class Statement {
 public:
  Statement() = default;

  void bind(int value, std::int64_t number);
  /// `octets` must live until the statement has been carried out.
  void bind_octets(int value, std::string_view octets);
  void bind_text(int value, std::string_view text);

  /// Carries out a statement without rows, and makes it ready for the next time. Throws Error.
  void run();
  /// Goes to the next row. Returns false if there is none. Throws Error.
  bool next();
  std::int64_t number(int column) const;
  /// Valid until the next call of next().
  std::string_view octets(int column) const;

 private:
  friend class Database;
  struct End {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Database* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, End> statement_;
};

/// For one thread at a time.
class Database {
 public:
  /// Opens the file, and creates it if necessary, readable only by its owner. Throws Error, also if
  /// another process has it, or it is not of this form.
  Database(std::string path, const Form& form, Sync sync);
  Database(const Database&) = delete;

  /// Throws Error.
  Statement prepare(const char* sql);
  /// Carries out statements without rows. Throws Error.
  void run(const char* sql);
  /// Returns the number in the first row; 0 if there is none. Throws Error.
  std::int64_t number(const char* sql);
  /// Takes back the transaction under way, if there is one.
  void roll_back() noexcept;

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* database) const;
  };

  void make_private();
  void prepare_form(const Form& form);
  void claim(const Form& form);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace simco::sqlite
