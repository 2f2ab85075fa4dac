// The common part of the writers of the filtering chains: verdicts, and rules that look packets up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "middlebox/backend/nftables/counters/drop_counters.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/backend/nftables/table/packet_key.hpp"
#include "middlebox/backend/nftables/table/rule.hpp"
#include "middlebox/backend/nftables/table/set_name.hpp"

namespace simco::backend::nftables {

/// The verdict for a packet of a rule.
struct Fate {
  int verdict;
  std::string counter;  ///< that counts it, if any
};

/// The protocol number of ICMP or ICMPv6.
std::uint8_t icmp_of(IpVersion version);

class ChainWriter {
 public:
  /// Exact masks will be looked up before those that compare less, interval sets last.
  ChainWriter(const Options& options, std::vector<Mask> masks, MessageBuffer& batch);

  const Options& options() const { return options_; }
  const std::vector<Mask>& masks() const { return masks_; }
  MessageBuffer& batch() const { return batch_; }

  /// The name of a chain of ours in the kernel.
  std::string name(const std::string& chain) const { return name_in_kernel(options_, chain); }
  /// A rule of a chain of ours, without conditions.
  Rule rule(const std::string& chain) const { return {options_.table, name(chain)}; }

  Fate accepted() const;
  Fate dropped(bool outside, DropReason reason) const;
  /// The verdict for a packet that no rule lets pass: the site's chains may decide otherwise.
  Fate otherwise(bool outside, DropReason reason = DropReason::kNoRule) const;
  void finish(Rule rule, const Fate& fate) const;

  /// Adds conditions to a rule.
  using Condition = std::function<void(Rule&)>;
  /// Packets whose key is in the set of `mask` meet `fate`.
  void look_up(const Mask& mask, const std::string& chain, KeySource source, const Fate& fate,
               const Condition& condition = {}) const;
  /// Disable rules.
  void block(IpVersion version, bool outside, const std::string& chain, KeySource source,
             const Condition& condition = {}) const;

 private:
  const Options& options_;
  std::vector<Mask> masks_;
  MessageBuffer& batch_;
};

/// The condition that packets travel in `direction` of their flow.
inline ChainWriter::Condition in_direction(std::uint8_t direction) {
  return [direction](Rule& rule) { rule.ct_direction(direction); };
}

}  // namespace simco::backend::nftables
