// A flow in the kernel's connection tracking, and which rules and pools it belongs to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "middlebox/backend/match/tuple_space.hpp"
#include "middlebox/backend/nftables/options.hpp"
#include "middlebox/rule/rule_change.hpp"

namespace simco::backend::nftables {

using match::Ends;
using rule::RuleChange;
using rule::RuleRecord;

/// The original direction of a flow: its name in the kernel.
struct FlowTuple {
  IpVersion version = IpVersion::kIpv4;
  std::uint8_t protocol = 0;
  std::array<std::byte, 16> source{};
  std::array<std::byte, 16> destination{};
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
};

/// A flow as the kernel has it, with both directions: they differ by the translation.
struct Flow {
  FlowTuple original;
  std::array<std::byte, 16> reply_source{};
  std::uint16_t reply_source_port = 0;
  std::array<std::byte, 16> reply_destination{};
  std::uint16_t reply_destination_port = 0;
  bool source_translated = false;
  bool destination_translated = false;
};

/// Returns the ends of a flow that began on that side, each with its real address.
Ends ends_of(const Flow& flow, bool begun_outside);
/// Returns those ends and the address and port that stand for the internal end outside.
match::Translation translation_of(const Flow& flow, bool begun_outside);
/// Returns whether `rule`, an enable rule with an address outside, lets the flow pass and
/// translates it as it is translated.
bool belongs_to(const Flow& flow, const RuleRecord& rule, bool begun_outside);

/// Returns whether the flow is translated to or from the pools of `options`, by our rules.
bool is_ours_translated(const Options& options, const Flow& flow);
/// Returns whether the flow goes to an address and port of the pools and is not translated.
bool is_ours_untranslated(const Options& options, const Flow& flow);

/// The enable rules of a NAT by the address and ports that they have outside.
class BindingIndex {
 public:
  /// Of the rules that are added or changed; they must outlive this.
  explicit BindingIndex(std::span<const RuleChange> rules);
  /// Returns whether the flow belongs to one of the rules.
  bool has(const Flow& flow) const;

 private:
  /// Protocol and first port outside; protocol 0 for a whole address.
  using Key = std::tuple<IpAddress, std::uint8_t, std::uint16_t>;

  bool has(const Flow& flow, bool begun_outside) const;

  std::map<Key, const RuleRecord*> rules_;
};

}  // namespace simco::backend::nftables
