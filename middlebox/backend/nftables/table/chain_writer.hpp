// The writers of the chains, and their common part: verdicts, and rules that look packets up in the
// sets of the masks that are in use.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/counters/drop_counters.hpp"
#include "middlebox/backend/nftables/elements/element_writer.hpp"
#include "middlebox/backend/nftables/netlink.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/backend/nftables/table/rule.hpp"

namespace simco::backend::nftables {

/// Where a packet's key comes from.
enum class KeySource : std::uint8_t {
  kFromOutside,       ///< headers; the destination is internal
  kFromInside,        ///< headers; the source is internal
  kFlowBegunOutside,  ///< the flow that an ICMP error is about
  kFlowBegunInside,
  kQuotedFromOutside,  ///< the packet that an ICMP error quotes, behind the error's eight octets
  kQuotedFromInside,
  kQuotedPieceFromOutside,  ///< the same, the first piece of a fragmented IPv6 packet
  kQuotedPieceFromInside,
};

/// True if the key is in the packet's own headers.
constexpr bool in_headers(KeySource source) {
  return source == KeySource::kFromOutside || source == KeySource::kFromInside;
}
/// True if the key is in the headers of a quoted packet.
constexpr bool is_quoted(KeySource source) { return source >= KeySource::kQuotedFromOutside; }

/// Directions of a flow, as Rule::ct_direction() and Rule::load_ct() take them.
inline constexpr std::uint8_t kOriginal = 0;
inline constexpr std::uint8_t kReply = 1;

/// Adds expressions to `rule` that put the key that `mask` compares into the registers from 0 on.
void load_key(Rule& rule, KeySource source, const Mask& mask);
/// The same for the key that a quoted packet would have if it had come from where the error goes.
void load_key_of_receiver(Rule& rule, KeySource source, const Mask& mask);
/// Adds the condition that both ports are odd, or that both are even.
void require_parity(Rule& rule, KeySource source, IpVersion version, bool odd);
/// Adds the condition that the quoted packet has its headers where load_key() looks for them: IPv4
/// without options, no fragment but the first.
void require_quote(Rule& rule, KeySource source, IpVersion version);

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
  /// Packets that enable rules of `mask` allow in this direction are accepted.
  void enable(const Mask& mask, bool outside, const std::string& chain, KeySource source) const;
  /// Without a lease, where there must be one, packets come no further than here.
  void require_lease(bool outside, const std::string& chain) const;
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

/// Leads ICMP from one side, in the chain `from`, to the chain `errors`, and writes the latter.
void write_error_rules(const ChainWriter& writer, IpVersion version, bool outside,
                       const std::string& from, const std::string& errors);

/// Adds to `batch` the rules that translate by `masks`, in their order, and those that guard the
/// pools of `options`. They go to the end of their chains.
void write_nat_rules(const Options& options, const std::vector<Mask>& masks, MessageBuffer& batch);

/// Adds the rules for guarded ports of this machine.
void write_guard_rules(const ChainWriter& writer);

/// Adds the rules of all chains, which are empty, to `batch`. Exact masks come before those that
/// compare less, interval sets last.
void write_rules(const Options& options, std::vector<Mask> masks, MessageBuffer& batch);

}  // namespace simco::backend::nftables
