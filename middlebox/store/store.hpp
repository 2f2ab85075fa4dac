// Storage of policy rules, so that they survive a restart of the middlebox (the S bit of RFC 4540,
// 4.3.3), and the choice that --state makes. A store handles identifiers and opaque octets.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "simco/wire/ids.hpp"
#include "simco/wire/instant.hpp"

namespace simco::store {

/// A store operation failed; what() is a sentence with the reason.
class StoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Another middlebox has claimed the store and now owns its rules.
class StoreTaken : public StoreError {
 public:
  using StoreError::StoreError;
};

/// The store has lost data: it was emptied, has gone back to an earlier state, or stored a part of
/// a batch only. It takes nothing but a batch of everything (Batch::all).
class StoreLost : public StoreError {
 public:
  using StoreError::StoreError;
};

/// Why something could not be stored.
struct StoreFailure {
  std::string what;
  bool taken = false;  ///< StoreTaken: retrying is useless
  bool lost = false;   ///< StoreLost
};

/// A stored rule.
struct Entry {
  PolicyRuleId pid;
  std::string octets;  ///< empty in a batch: delete the rule
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Numbers that are stored with the rules, by name.
struct Counters {
  std::uint64_t next_pid = 1;
  std::uint64_t next_gid = 1;
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// Changes that are stored atomically.
struct Batch {
  std::vector<Entry> entries;  ///< in their order: the later entry of a PID wins
  Counters counters;
  bool all = false;  ///< these are all rules: others are removed from the store
};

/// Everything in a store.
struct Contents {
  std::vector<Entry> entries;  ///< in no order
  Counters counters;
  bool owned = true;  ///< false: it is a copy of another middlebox's store, to be followed
};

/// What the owner of the store has written since.
struct Changes {
  Batch batch;
  bool owned = false;   ///< the store is ours from now on
  bool current = true;  ///< false: the copy has no connection to the store, and may be behind
};

/// When a batch counts as stored.
enum class Sync : std::uint8_t {
  kDisk,    ///< on disk: survives a power failure
  kSystem,  ///< with the operating system: survives a crash of the process
};

/// Used by one thread at a time. Calls may block for as long as the medium takes.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Returns where it stores rules, for messages: a path, or an address without passwords.
  virtual std::string place() const = 0;
  /// True if it is a copy of a store that another middlebox may own. Throws StoreError if it cannot
  /// be reached.
  virtual bool is_copy() { return false; }
  /// True if other boxes have asked for a lease on its rules. For any thread.
  virtual bool is_shared() const { return false; }
  /// Claims the store for this process, unless it is a copy, and reads it. Must be called once,
  /// before follow() and write(). Throws StoreError if the store cannot be reached, is in use, or
  /// is not ours.
  virtual Contents open() = 0;
  /// Of a copy: waits for changes, for at most kFollowPatience, or claims the store if it is a copy
  /// no longer. Throws StoreError, and may be called again then.
  virtual Changes follow() { return {.batch = {}, .owned = true}; }
  /// Of a copy: all that follow() has returned is enforced here, as the owner is told. Returns
  /// until when packets may pass by these rules, for the owner waits so long for a box that does
  /// not confirm the next batch; nullopt: there is more to follow, or the owner has not answered.
  /// Throws StoreError if the owner's store cannot be reached, and no packet may pass.
  virtual std::optional<Instant> confirm() { return std::nullopt; }
  /// Answers the boxes that have called confirm(). Throws StoreTaken if another middlebox has
  /// claimed the store since, or if it has become a copy; StoreLost if it has lost data.
  virtual void verify() {}
  /// Stores `batch`, which is durable when the call returns, and enforced by each box that has a
  /// copy and lets packets pass (confirm()). Throws StoreError if all or none of it may be stored,
  /// after the last lease by earlier batches is over; StoreTaken and StoreLost where that is why.
  virtual void write(const Batch& batch) = 0;
  /// The process ends and changes nothing any more: boxes that have called confirm() keep their
  /// leases until another process owns the store, unless the last batch is not known to be stored.
  /// Must be the last call.
  virtual void leave() {}
  /// Returns lines for the log since the last call: what write() has had to do without.
  virtual std::vector<std::string> take_warnings() { return {}; }
};

/// Returns the store at `where`, of the kind that the table of stores has for it. Returns an error
/// message if `where` is invalid. Nothing is opened yet.
std::expected<std::unique_ptr<Store>, std::string> make_store(const std::string& where, Sync sync);
/// Returns a sentence that says why a store at `where` cannot be used on this machine, or nothing.
std::optional<std::string> fault_in_use(const std::string& where);
/// Returns the forms of `where`, for `--help`.
std::string store_forms();

/// Returns the file that `where` names; nullopt if it is a server.
std::optional<std::string> file_of(const std::string& where);

}  // namespace simco::store
