// Elements in messages: operations are written, and elements read as the kernel tells of them, in
// the answer to a question and in the echo of a removal. Every request takes the path of writing,
// so the octets are written directly, without a library's objects in between.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "middlebox/backend/match/element.hpp"
#include "middlebox/backend/nftables/elements/element_planner.hpp"
#include "middlebox/backend/nftables/error_attribution.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::backend::nftables {

using match::Mask;

/// Returns the name of the set that has the elements of `mask`, in our own table.
std::string set_name(const Mask& mask);

/// Returns the name that the kernel knows that set by.
inline std::string set_in_kernel(const Options& options, const Mask& mask) {
  return name_in_kernel(options, set_name(mask));
}

/// Appends the key of an element of the set of `mask` to the open attribute.
void put_key(nlmsghdr* message, const Mask& mask, const Key& key);

class ElementWriter {
 public:
  /// Messages go into `batch`.
  ElementWriter(const Options& options, MessageBuffer& batch) : options_(options), batch_(batch) {}

  /// Whether the kernel is asked to report removed elements with their counts.
  void set_echo(bool echo) { echo_ = echo; }
  /// The kernel may be late by `slack` in ending an element.
  void set_slack(std::chrono::nanoseconds slack) { slack_ = slack; }
  std::chrono::nanoseconds slack() const { return slack_; }

  /// Writes `operations` as of `now`. With `messages`, none is for two changes, and each is listed
  /// there.
  void write(std::span<const Operation> operations, Instant now,
             std::vector<ChangeMessage>* messages = nullptr);
  /// Writes the removal of a foreign element of the set of `mask`.
  void write_removal(const Mask& mask, const std::string& key, const std::string& key_end);
  /// Returns the name that the kernel knows the set of `mask` by.
  const std::string& name_of(const Mask& mask);

 private:
  void write(const Operation& operation, Instant now);
  void add(const Operation& operation, PolicyRuleId pid, std::chrono::nanoseconds lifetime);
  void remove(const Operation& operation);
  /// Turns the open message into a message for such an operation.
  nlmsghdr* open_for(const Operation& operation, bool removal);
  void open(const Mask& mask, bool removal);
  void close();

  const Options& options_;
  MessageBuffer& batch_;
  std::chrono::nanoseconds slack_{};
  bool echo_ = false;
  std::vector<ChangeMessage>* messages_ = nullptr;
  std::map<Mask, std::string> names_;  ///< of sets, as far as they were needed lately
  std::vector<std::uint32_t> order_;   ///< scratch
  // The open message
  nlmsghdr* message_ = nullptr;
  std::uint32_t list_ = 0;  ///< where its list of elements begins
  const ElementStore* store_ = nullptr;
  ChangeMessage listed_;
};

/// An element of a set in the kernel.
struct KernelElement {
  std::string key;  ///< octets, followed by those of the end of an interval
  PacketCount counter;
};

/// Returns the name of the set that a message of nf_tables about elements names.
std::string_view set_named_in(const nlmsghdr* message);
/// Returns the elements in such a message.
std::vector<KernelElement> elements_in(const nlmsghdr* message);

}  // namespace simco::backend::nftables
