#include "middlebox/backend/nftables/table/chain_writer.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <utility>

#include "middlebox/backend/nftables/table/lease.hpp"

namespace simco::backend::nftables {

std::uint8_t icmp_of(IpVersion version) {
  return version == IpVersion::kIpv4 ? std::uint8_t{IPPROTO_ICMP} : std::uint8_t{IPPROTO_ICMPV6};
}

ChainWriter::ChainWriter(const Options& options, std::vector<Mask> masks, MessageBuffer& batch)
    : options_(options), masks_(std::move(masks)), batch_(batch) {
  std::stable_sort(masks_.begin(), masks_.end(), [](const Mask& a, const Mask& b) {
    if (a.intervals != b.intervals) return b.intervals;
    return a.specificity() > b.specificity();
  });
}

Fate ChainWriter::accepted() const { return {NF_ACCEPT, {}}; }

Fate ChainWriter::dropped(bool outside, DropReason reason) const {
  return {NF_DROP, drop_counter(options_, outside, reason)};
}

Fate ChainWriter::otherwise(bool outside, DropReason reason) const {
  return options_.own_table ? dropped(outside, reason) : Fate{NFT_RETURN, {}};
}

void ChainWriter::finish(Rule rule, const Fate& fate) const {
  if (!fate.counter.empty()) rule.count(fate.counter);
  rule.verdict(fate.verdict).add_to(batch_);
}

void ChainWriter::look_up(const Mask& mask, const std::string& chain, KeySource source,
                          const Fate& fate, const Condition& condition) const {
  const bool pairs = mask.internal_port_bits == 15 && mask.external_port_bits == 15;
  for (const bool odd : {false, true}) {
    if (odd && !pairs) break;
    Rule made = rule(chain);
    if (condition) condition(made);
    // Conditions that the chain has already tested are compared again: nft prints a rule so that it
    // can be read back only if the rule itself has the protocols of its addresses and ports.
    if (!in_headers(source)) made.protocol(icmp_of(mask.version));
    if (is_quoted(source)) require_quote(made, source, mask.version);
    if (pairs) require_parity(made, source, mask.version, odd);
    if (in_headers(source) && mask.compares_addresses())
      made.ip_version(match::family_of(mask.version));
    load_key(made, source, mask);
    made.in_set(set_in_kernel(options_, mask));
    if (is_quoted(source) && fate.verdict == NF_ACCEPT) {
      // The sender of an error may quote anything, but only to a host that has such a rule itself.
      load_key_of_receiver(made, source, mask);
      made.in_set(set_in_kernel(options_, mask));
    }
    finish(std::move(made), fate);
  }
}

void ChainWriter::enable(const Mask& mask, bool outside, const std::string& chain,
                         KeySource source) const {
  using match::FlowDirection;
  const FlowDirection packets = outside ? FlowDirection::kInbound : FlowDirection::kOutbound;
  if (mask.direction == FlowDirection::kBoth || mask.direction == packets) {
    look_up(mask, chain, source, accepted());
  } else if (mask.direction == FlowDirection::kInboundConnection) {
    look_up(mask, chain, source, accepted(), in_direction(outside ? kOriginal : kReply));
  } else if (mask.direction == FlowDirection::kOutboundConnection) {
    look_up(mask, chain, source, accepted(), in_direction(outside ? kReply : kOriginal));
  }
}

void ChainWriter::require_lease(bool outside, const std::string& chain) const {
  if (!options_.leased) return;
  Rule unleased = rule(chain);
  unleased.load_meta(NFT_META_NFPROTO, 0).not_in_set(lease_set(options_));
  finish(std::move(unleased), otherwise(outside, DropReason::kNoLease));
}

void ChainWriter::block(IpVersion version, bool outside, const std::string& chain, KeySource source,
                        const Condition& condition) const {
  const Fate blocked = dropped(outside, DropReason::kDisableRule);
  for (const auto& mask : masks_) {
    if (mask.purpose != match::Purpose::kDisable || mask.version != version) continue;
    look_up(mask, chain, source, blocked, condition);
  }
}

}  // namespace simco::backend::nftables
