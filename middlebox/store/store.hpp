// Where policy rules are kept so that they outlive the middlebox (the S of RFC 4540, 4.3.3). A
// store sees identifiers and octets, and nothing of what they mean.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simco/wire/ids.hpp"

namespace simco::store {

/// A store cannot do what it should; what() is a sentence that says why.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another middlebox has claimed the store: it is its rules' owner now.
class StoreTaken : public StoreError {
 public:
  using StoreError::StoreError;
};

/// Why something could not be kept.
struct StoreFailure {
  std::string what;
  bool taken = false;  ///< StoreTaken: it never can be
};

/// What is kept of one rule.
struct Entry {
  PolicyRuleId pid;
  std::string octets;  ///< empty in a batch: the rule is to be forgotten
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Numbers that are kept beside the rules, each at its name.
struct Counters {
  std::uint64_t next_pid = 1;
  std::uint64_t next_gid = 1;
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// Changes that are kept together or not at all.
struct Batch {
  std::vector<Entry> entries;  ///< in their order: a later one of the same PID wins
  Counters counters;
};

struct Contents {
  std::vector<Entry> entries;  ///< in no order
  Counters counters;
};

/// Used by one thread at a time. Each call may take as long as the medium does.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Where it keeps things, for messages: a path, or an address without passwords.
  virtual std::string place() const = 0;
  /// Claims the store for this process, and reads it. To be called first and once. Throws
  /// StoreError: it cannot be reached, is in use, or is not one of ours.
  virtual Contents open() = 0;
  /// Keeps `batch`: durable when it returns. Throws StoreError; then none of it is kept, unless
  /// the connection to the store was lost meanwhile, when all or none of it is.
  virtual void write(const Batch& batch) = 0;
};

}  // namespace simco::store
