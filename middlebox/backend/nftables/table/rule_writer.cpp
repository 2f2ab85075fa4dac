// For each side and IP version: a rule that leads packets to their chain, that chain, and the chain
// for ICMP errors. In a chain, disable rules come first, then flows without a rule, then the
// lookups of enable rules.
#include "middlebox/backend/nftables/table/chain_writer.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <string>
#include <utility>

#include "middlebox/backend/match/key_layout.hpp"

namespace simco::backend::nftables {
namespace {

using match::family_of;
using match::Purpose;

constexpr std::uint32_t kStateEstablished = NF_CT_STATE_BIT(IP_CT_ESTABLISHED);

/// Writes the rules of all chains: here those that decide which packets pass.
class RuleWriter : private ChainWriter {
 public:
  using ChainWriter::ChainWriter;

  void write() {
    if (!tracks_all(options())) write_untracked();
    if (!options().guards.empty()) write_guard_rules(*this);
    if (!forwards(options())) return;
    for (const auto version : {IpVersion::kIpv4, IpVersion::kIpv6}) {
      const std::string digit = version == IpVersion::kIpv4 ? "4" : "6";
      for (const bool outside : {true, false}) {
        const std::string side = (outside ? "outside" : "inside") + digit;
        dispatch(version, outside, "from-" + side);
        from(version, outside, "from-" + side, "errors-" + side);
      }
      if (options().nat) refuse_led_back(version, "led-back" + digit);
    }
    if (options().nat) write_nat_rules(options(), masks(), batch());
  }

 private:
  /// Without tracking, nothing else would put fragments together, whose ports are looked up.
  void write_untracked() {
    rule("fragments").protocol(IPPROTO_UDP).defragment().add_to(batch());
    if (options().tracking != Tracking::kNotrack || !forwards(options())) return;
    // The site decides about tracking of other packets: the router's own, other interfaces'.
    for (const bool outside : {true, false}) {
      rule("untracked")
          .interface(NFT_META_IIFNAME, outside ? options().external_if : options().internal_if)
          .protocol(IPPROTO_UDP)
          .routed_to(outside ? options().internal_if : options().external_if)
          .untrack()
          .add_to(batch());
    }
  }

  void dispatch(IpVersion version, bool outside, const std::string& chain) {
    rule("forward")
        .ip_version(family_of(version))
        .interface(NFT_META_IIFNAME, outside ? options().external_if : options().internal_if)
        .interface(NFT_META_OIFNAME, outside ? options().internal_if : options().external_if)
        .verdict(NFT_GOTO, name(chain))
        .add_to(batch());
  }

  void from(IpVersion version, bool outside, const std::string& chain,
            const std::string& errors_chain) {
    const KeySource source = outside ? KeySource::kFromOutside : KeySource::kFromInside;
    block(version, outside, chain, source);
    require_lease(outside, chain);
    const bool withholds_authenticated = options().allow_outbound && blocks_protocols(version);
    if (options().allow_outbound && outside) {
      Rule answers = rule(chain);
      if (withholds_authenticated) answers.not_protocol(IPPROTO_AH);
      answers.ct_direction(kReply)
          .ct_bits(NFT_CT_STATE, kStateEstablished, true)
          .verdict(NF_ACCEPT)
          .add_to(batch());
    }
    if (options().allow_outbound && !outside) {
      if (withholds_authenticated) withhold_authenticated(version, chain, source);
      rule(chain).verdict(NF_ACCEPT).add_to(batch());
      return;
    }
    if (options().nat) refuse_untrackable(outside, chain);
    if (outside ? options().nat : !options().inside_pool.empty())
      refuse_untranslated(outside, chain);
    if (outside ? !options().inside_pool.empty() : options().nat)
      refuse_real_source(outside, chain);
    enable_all(version, outside, chain, source);
    write_error_rules(*this, version, outside, chain, errors_chain);
    finish(rule(chain), otherwise(outside));
  }

  /// Blocks packets from outside to the real address of an internal host and, on a twice NAT, from
  /// inside to that of an external host: the kernel would not translate the rest of that flow
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

  /// Blocks a flow that connection tracking took while the router's own route led it elsewhere: it
  /// would keep the address that it came with.
  void refuse_real_source(bool outside, const std::string& chain) {
    const Fate fate = otherwise(outside, DropReason::kNoBinding);
    Rule original = rule(chain);
    original.ct_direction(kOriginal)
        .ct_bits(NFT_CT_STATUS, IPS_CONFIRMED, true)
        .ct_bits(NFT_CT_STATUS, IPS_SRC_NAT, false);
    finish(std::move(original), fate);
    Rule reply = rule(chain);
    reply.ct_direction(kReply).ct_bits(NFT_CT_STATUS, IPS_DST_NAT, false);
    finish(std::move(reply), fate);
  }

  /// Blocks packets of rules from inside that the router's own route leads back inside. A tracked
  /// flow would keep its real source, and give packets from outside another port.
  void refuse_led_back(IpVersion version, const std::string& chain) {
    rule("forward")
        .ip_version(family_of(version))
        .interface(NFT_META_IIFNAME, options().internal_if)
        .interface(NFT_META_OIFNAME, options().internal_if)
        .verdict(NFT_JUMP, name(chain))
        .add_to(batch());
    const Fate fate = dropped(false, DropReason::kNoBinding);
    for (const auto& mask : masks()) {
      if (mask.purpose != Purpose::kEnable || mask.version != version) continue;
      look_up(mask, chain, KeySource::kFromInside, fate);
    }
  }

  /// Blocks packets that connection tracking has rejected, as with a wrong checksum: the kernel
  /// would let them pass untranslated.
  void refuse_untrackable(bool outside, const std::string& chain) {
    Rule untrackable = rule(chain);
    untrackable.ct_bits(NFT_CT_STATE, NF_CT_STATE_INVALID_BIT | NF_CT_STATE_UNTRACKED_BIT, true);
    finish(std::move(untrackable), otherwise(outside, DropReason::kNoBinding));
  }

  bool blocks_protocols(IpVersion version) const {
    return std::ranges::any_of(masks(), [version](const Mask& mask) {
      return mask.purpose == Purpose::kDisable && mask.version == version && mask.protocol;
    });
  }

  /// An authentication header hides the protocol and ports of a packet: while rules block some, it
  /// needs a rule that lets it pass, even as a reply to an older flow from inside.
  void withhold_authenticated(IpVersion version, const std::string& chain, KeySource source) {
    enable_all(version, false, chain, source);
    Rule authenticated = rule(chain);
    authenticated.protocol(IPPROTO_AH);
    finish(std::move(authenticated), otherwise(false));
  }

  void enable_all(IpVersion version, bool outside, const std::string& chain, KeySource source) {
    bool sources_checked = !outside || !options().check_sources;
    for (const auto& mask : masks()) {
      if (mask.purpose != Purpose::kEnable || mask.version != version) continue;
      // A rule for many external hosts is not for internal hosts: their addresses are forged.
      if (!sources_checked && mask.external_bits < address_bits(version)) {
        Rule forged = rule(chain);
        forged.unroutable_source();
        finish(std::move(forged), otherwise(outside, DropReason::kForgedSource));
        sources_checked = true;
      }
      ChainWriter::enable(mask, outside, chain, source);
    }
  }
};

}  // namespace

void write_rules(const Options& options, std::vector<Mask> masks, MessageBuffer& batch) {
  RuleWriter(options, std::move(masks), batch).write();
}

}  // namespace simco::backend::nftables
