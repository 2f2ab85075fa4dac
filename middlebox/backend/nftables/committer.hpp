// Carries out commits: batches of netlink messages that the kernel takes as a whole or not at all.
//
// Each commit names the generation of the ruleset that it builds on, which counts every commit in
// the network namespace by any program; the kernel refuses a commit that builds on another
// generation. So others cannot change our table unnoticed between two of our commits.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/elements/element_planner.hpp"
#include "middlebox/backend/nftables/elements/element_writer.hpp"
#include "middlebox/backend/nftables/error_attribution.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::backend::nftables {

/// Throws std::system_error if netlink itself fails.
class Committer {
 public:
  explicit Committer(const Options& options);
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  /// The socket that commits are sent by, which a claimed table belongs to; for questions.
  NetlinkSocket& socket() { return socket_; }

  // --- Any commit: begin(), messages into the buffer, commit()

  /// Begins a commit on the generation that is known. Returns where its messages go.
  MessageBuffer& begin() { return begin_on(generation_); }
  /// Begins a commit on `generation`; 0: on any.
  MessageBuffer& begin_on(std::uint32_t generation);
  /// Writes elements into the open commit, as of `now`.
  void write(std::span<const Operation> operations, Instant now);
  /// Writes the removal of a foreign element into the open commit.
  void write_removal(const Mask& mask, const std::string& key, const std::string& key_end);
  /// Octets of the open commit.
  std::size_t size() const { return batch_.size(); }
  /// Returns true if nothing was written since begin().
  bool empty() const { return batch_.size() == nothing_; }
  /// Sends the open commit and waits for the kernel's answer.
  Outcome commit();
  /// The first errno of the commit that failed; EIO if the kernel did not say which message it was.
  int error() const { return errors_.empty() ? EIO : errors_.front().error; }

  // --- A commit of a batch of changes

  /// Makes a commit of `operations`, as of `now`. If it fails it is sent once more, with messages
  /// for each change.
  Outcome carry_out(std::span<const Operation> operations, Instant now);
  /// Returns, after carry_out(), the element's count at each of its removals; nullopt if the kernel
  /// has not sent it. Without counters it never does.
  std::optional<PacketCount> counted(const Operation& operation);
  /// Returns which changes were at fault when carry_out() failed.
  Attribution attribute_errors() const;

  // --- The generation

  /// No other process can change the table: commits build on any generation.
  void claim() { claimed_ = true; }
  bool claimed() const { return claimed_; }
  /// The table is known as of `generation`.
  void build_on(std::uint32_t generation) { generation_ = claimed_ ? 0 : generation; }
  /// The next commit is made regardless of others' commits.
  void build_on_any() { generation_ = 0; }
  /// The generation after our last commit; 0: not known, or claimed.
  std::uint32_t generation() const { return generation_; }
  /// Returns true if others may have changed the table without our next commit failing.
  bool builds_on_any() const { return generation_ == 0 && !claimed_; }

 private:
  /// The kernel reports removed elements.
  void note(const nlmsghdr* message);
  Outcome send(std::span<const Operation> operations, Instant now,
               std::vector<ChangeMessage>* messages);

  const Options& options_;
  NetlinkSocket socket_;
  MessageBuffer batch_;
  ElementWriter writer_;
  std::size_t nothing_ = 0;  ///< size of the open commit when it was begun
  std::uint32_t generation_ = 0;
  bool claimed_ = false;
  std::vector<MessageError> errors_;
  std::vector<ChangeMessage> messages_;
  /// Of elements that were removed, by the name of the set and the key.
  absl::flat_hash_map<std::string, PacketCount> counted_;
};

}  // namespace simco::backend::nftables
