// Turns what is to become of elements into messages. This is the path that every request takes:
// the octets are put down one by one, without a library's objects in between.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/element_store.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"

namespace simco::backend::nftables {

/// What happens to one element: who holds it before and after.
struct Operation {
  ElementStore* store;
  Key key;
  Target target;
  Holders before;
  Holders after;
  std::uint32_t change = 0;  ///< for which change of the batch
};

/// A message of a batch in which each change has messages of its own.
struct Part {
  std::uint32_t sequence = 0;
  std::uint32_t change = 0;
  bool removal = false;
  Instant ends{};  ///< of a removal: when the first of its elements ends by itself
};

class ElementWriter {
 public:
  ElementWriter(const Options& options, MessageBuffer& batch) : options_(options), batch_(batch) {}

  /// The kernel may be late by `slack` in ending an element.
  void set_slack(std::chrono::nanoseconds slack) { slack_ = slack; }
  std::chrono::nanoseconds slack() const { return slack_; }

  /// Writes `operations` as of `now`. `doubtful[change]`: whether the elements of that change are
  /// there is not certain. With `parts`, no message is for two changes, and each is listed there.
  void write(std::span<const Operation> operations, Instant now, const std::vector<bool>& doubtful,
             std::vector<Part>* parts);
  /// Writes the removal of an element that is not one of ours.
  void write_removal(const ElementStore& store, const std::string& key, const std::string& key_end);

 private:
  void write(const Operation& operation, Instant now, bool doubtful);
  void add(const Operation& operation, PolicyRuleId pid, std::chrono::nanoseconds lifetime);
  void remove(const Operation& operation);
  /// Makes the open message one that does this.
  nlmsghdr* open(const ElementStore& store, std::uint32_t change, bool removal);
  void close();

  const Options& options_;
  MessageBuffer& batch_;
  std::chrono::nanoseconds slack_{};
  std::vector<Part>* parts_ = nullptr;
  std::vector<std::uint32_t> order_;  ///< scratch
  // The open message
  nlmsghdr* message_ = nullptr;
  nlattr* list_ = nullptr;
  const ElementStore* store_ = nullptr;
  std::uint32_t change_ = 0;
  bool removal_ = false;
  Instant ends_{};
};

}  // namespace simco::backend::nftables
