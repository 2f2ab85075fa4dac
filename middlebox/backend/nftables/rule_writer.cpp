// For each side and IP version: a rule that leads packets to their chain, that chain, and the
// chain for ICMP errors. In a chain, disable rules come first, then what passes without a rule,
// then the lookups of enable rules.
#include "middlebox/backend/nftables/rule_writer.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/drop_counters.hpp"
#include "middlebox/backend/nftables/nat_rules.hpp"
#include "middlebox/backend/nftables/packet_key.hpp"
#include "middlebox/backend/nftables/rule.hpp"

namespace simco::backend::nftables {
namespace {

using match::family_of;
using match::FlowDirection;
using match::Purpose;

constexpr std::uint32_t kStateEstablished = NF_CT_STATE_BIT(IP_CT_ESTABLISHED);
constexpr std::uint32_t kStateRelated = NF_CT_STATE_BIT(IP_CT_RELATED);

std::uint8_t icmp_of(IpVersion version) {
  return version == IpVersion::kIpv4 ? std::uint8_t{IPPROTO_ICMP} : std::uint8_t{IPPROTO_ICMPV6};
}

/// What becomes of a packet that a rule is for.
struct Fate {
  int verdict;
  std::string counter;  ///< that counts it, if any
};

/// Writes the rules of all chains: here those that decide which packets pass.
class RuleWriter {
 public:
  RuleWriter(const Options& options, std::vector<Mask> masks, MessageBuffer& batch)
      : options_(options), masks_(std::move(masks)), batch_(batch) {
    std::stable_sort(masks_.begin(), masks_.end(), [](const Mask& a, const Mask& b) {
      if (a.intervals != b.intervals) return b.intervals;
      return a.specificity() > b.specificity();
    });
  }

  void write() {
    for (const auto version : {IpVersion::kIpv4, IpVersion::kIpv6}) {
      for (const bool outside : {true, false}) {
        const std::string side =
            std::string(outside ? "outside" : "inside") + (version == IpVersion::kIpv4 ? "4" : "6");
        dispatch(version, outside, "from-" + side);
        from(version, outside, "from-" + side, "errors-" + side);
        errors(version, outside, "errors-" + side);
      }
    }
    if (options_.nat) write_nat_rules(options_, masks_, batch_);
  }

 private:
  std::string name(const std::string& chain) const { return name_in_kernel(options_, chain); }
  Rule rule(const std::string& chain) const { return {options_.table, name(chain)}; }
  Fate dropped(bool outside, DropReason reason) const {
    return {NF_DROP, drop_counter(options_, outside, reason)};
  }
  /// What happens to a packet that no rule lets pass: the site's chains may decide otherwise.
  Fate otherwise(bool outside, DropReason reason = DropReason::kNoRule) const {
    return options_.own_table ? dropped(outside, reason) : Fate{NFT_RETURN, {}};
  }
  void finish(Rule rule, const Fate& fate) const {
    if (!fate.counter.empty()) rule.count(fate.counter);
    rule.verdict(fate.verdict).add_to(batch_);
  }

  void dispatch(IpVersion version, bool outside, const std::string& chain) {
    rule("forward")
        .ip_version(family_of(version))
        .interface(NFT_META_IIFNAME, outside ? options_.external_if : options_.internal_if)
        .interface(NFT_META_OIFNAME, outside ? options_.internal_if : options_.external_if)
        .verdict(NFT_GOTO, name(chain))
        .add_to(batch_);
  }

  void from(IpVersion version, bool outside, const std::string& chain,
            const std::string& errors_chain) {
    const KeySource source = outside ? KeySource::kFromOutside : KeySource::kFromInside;
    block(version, outside, chain, source, {});
    const bool withholds_authenticated = options_.allow_outbound && blocks_protocols(version);
    if (options_.allow_outbound && outside) {
      Rule answers = rule(chain);
      if (withholds_authenticated) answers.not_protocol(IPPROTO_AH);
      answers.ct_direction(kReply)
          .ct_bits(NFT_CT_STATE, kStateEstablished, true)
          .verdict(NF_ACCEPT)
          .add_to(batch_);
    }
    if (options_.allow_outbound && !outside) {
      if (withholds_authenticated) withhold_authenticated(version, chain, source);
      rule(chain).verdict(NF_ACCEPT).add_to(batch_);
      return;
    }
    if (outside ? options_.nat : !options_.inside_pool.empty()) refuse_untranslated(outside, chain);
    enable(version, outside, chain, source);
    rule(chain)
        .protocol(icmp_of(version))
        .ct_bits(NFT_CT_STATE, kStateRelated, true)
        .verdict(NFT_GOTO, name(errors_chain))
        .add_to(batch_);
    finish(rule(chain), otherwise(outside));
  }

  /// Blocks packets from outside to the real address of an internal host and, on a twice NAT, from
  /// inside to that of an external one: the kernel would not translate the rest of that flow
  /// either.
  void refuse_untranslated(bool outside, const std::string& chain) {
    const Fate fate = otherwise(outside, DropReason::kNoBinding);
    Rule original = rule(chain);
    original.ct_direction(kOriginal).ct_bits(NFT_CT_STATUS, IPS_DST_NAT, false);
    finish(std::move(original), fate);
    Rule reply = rule(chain);
    reply.ct_direction(kReply).ct_bits(NFT_CT_STATUS, IPS_SRC_NAT, false);
    finish(std::move(reply), fate);
  }

  bool blocks_protocols(IpVersion version) const {
    return std::ranges::any_of(masks_, [version](const Mask& mask) {
      return mask.purpose == Purpose::kDisable && mask.version == version && mask.protocol;
    });
  }

  /// An authentication header hides the protocol and ports of a packet: while rules block some, it
  /// needs a rule that lets it pass, also if it answers what began inside before.
  void withhold_authenticated(IpVersion version, const std::string& chain, KeySource source) {
    enable(version, false, chain, source);
    Rule authenticated = rule(chain);
    authenticated.protocol(IPPROTO_AH);
    finish(std::move(authenticated), otherwise(false));
  }

  void enable(IpVersion version, bool outside, const std::string& chain, KeySource source) {
    const FlowDirection packets = outside ? FlowDirection::kInbound : FlowDirection::kOutbound;
    bool sources_checked = !outside || !options_.check_sources;
    for (const auto& mask : masks_) {
      if (mask.purpose != Purpose::kEnable || mask.version != version) continue;
      // A rule for many external hosts is not for internal ones: their addresses are forged.
      if (!sources_checked && mask.external_bits < address_bits(version)) {
        Rule forged = rule(chain);
        forged.unroutable_source();
        finish(std::move(forged), otherwise(outside, DropReason::kForgedSource));
        sources_checked = true;
      }
      if (mask.direction == FlowDirection::kBoth || mask.direction == packets) {
        look_up(mask, chain, source, kAccepted, {});
      } else if (mask.direction == FlowDirection::kInboundConnection) {
        look_up(mask, chain, source, kAccepted, outside ? kOriginal : kReply);
      } else if (mask.direction == FlowDirection::kOutboundConnection) {
        look_up(mask, chain, source, kAccepted, outside ? kReply : kOriginal);
      }
    }
  }

  /// ICMP errors that come from one side are about packets that went there.
  void errors(IpVersion version, bool outside, const std::string& chain) {
    // Redirect, and source quench, are for routers and obsolete: related to a flow, but no errors.
    if (version == IpVersion::kIpv4) {
      constexpr std::array kSourceQuench = {std::byte{4}};
      constexpr std::array kRedirect = {std::byte{5}};
      Rule no_error = rule(chain);
      no_error.protocol(IPPROTO_ICMP).load_transport(0, 1, 0).within(0, kSourceQuench, kRedirect);
      finish(std::move(no_error), otherwise(outside));
    }
    // Where an error comes from and who began the flow say which way the error travels.
    const auto direction = [outside](KeySource source) {
      return (source == KeySource::kFlowBegunOutside) == outside ? kOriginal : kReply;
    };
    constexpr std::array kSources = {KeySource::kFlowBegunOutside, KeySource::kFlowBegunInside};
    for (const KeySource source : kSources)
      block(version, outside, chain, source, direction(source));
    if (options_.allow_outbound && outside) {
      rule(chain).ct_direction(kReply).verdict(NF_ACCEPT).add_to(batch_);
    }
    for (const KeySource source : kSources) {
      const bool begun_outside = source == KeySource::kFlowBegunOutside;
      const FlowDirection connections =
          begun_outside ? FlowDirection::kInboundConnection : FlowDirection::kOutboundConnection;
      const FlowDirection packets =
          begun_outside ? FlowDirection::kInbound : FlowDirection::kOutbound;
      for (const auto& mask : masks_) {
        if (mask.purpose != Purpose::kEnable || mask.version != version) continue;
        const bool one_way = mask.direction == packets && begun_outside != outside;
        if (mask.direction != FlowDirection::kBoth && mask.direction != connections && !one_way)
          continue;
        look_up(mask, chain, source, kAccepted, direction(source));
      }
    }
    finish(rule(chain), otherwise(outside));
  }

  void block(IpVersion version, bool outside, const std::string& chain, KeySource source,
             std::optional<std::uint8_t> direction) {
    const Fate blocked = dropped(outside, DropReason::kDisableRule);
    for (const auto& mask : masks_) {
      if (mask.purpose != Purpose::kDisable || mask.version != version) continue;
      look_up(mask, chain, source, blocked, direction);
    }
  }

  void look_up(const Mask& mask, const std::string& chain, KeySource source, const Fate& fate,
               std::optional<std::uint8_t> direction) {
    const bool pairs = mask.internal_port_bits == 15 && mask.external_port_bits == 15;
    for (const bool odd : {false, true}) {
      if (odd && !pairs) break;
      Rule made = rule(chain);
      if (direction) made.ct_direction(*direction);
      // What the chain has decided already is compared again: nft prints a rule so that it can be
      // read back only if that rule says itself whose addresses and ports these are.
      if (!in_headers(source)) made.protocol(icmp_of(mask.version));
      if (pairs) require_parity(made, source, odd);
      if (in_headers(source) && mask.compares_addresses()) made.ip_version(family_of(mask.version));
      load_key(made, source, mask);
      made.in_set(set_in_kernel(options_, mask));
      finish(std::move(made), fate);
    }
  }

  static inline const Fate kAccepted{NF_ACCEPT, {}};
  const Options& options_;
  std::vector<Mask> masks_;
  MessageBuffer& batch_;
};

}  // namespace

void write_rules(const Options& options, std::vector<Mask> masks, MessageBuffer& batch) {
  RuleWriter(options, std::move(masks), batch).write();
}

}  // namespace simco::backend::nftables
