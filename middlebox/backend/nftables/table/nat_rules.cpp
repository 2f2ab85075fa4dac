// A rule for each mask that translates, in the chains prerouting and postrouting, and rules that
// drop packets to ports of the pools that have no binding.
#include "middlebox/backend/nftables/table/chain_writer.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>

#include <span>
#include <string>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/counters/drop_counters.hpp"

namespace simco::backend::nftables {
namespace {

using match::address_octets;
using match::family_of;
using match::port_octets;
using match::Purpose;

class NatRuleWriter {
 public:
  NatRuleWriter(const Options& options, MessageBuffer& batch) : options_(options), batch_(batch) {}

  void translate(const Mask& mask) {
    if (!mask.translates()) return;
    const bool destination =
        mask.purpose == Purpose::kDestinationOutside || mask.purpose == Purpose::kDestinationInside;
    const bool external =
        mask.purpose == Purpose::kDestinationOutside || mask.purpose == Purpose::kSourceOutside;
    const bool from_outside =
        mask.purpose == Purpose::kDestinationOutside || mask.purpose == Purpose::kSourceInside;
    const KeySource source = from_outside ? KeySource::kFromOutside : KeySource::kFromInside;
    Rule made = rule(destination ? "prerouting" : "postrouting");
    made.ip_version(family_of(mask.version));
    made.interface(destination ? NFT_META_IIFNAME : NFT_META_OIFNAME,
                   external ? options_.external_if : options_.internal_if);
    if (mask.last_port != 0) {
      // The port of the end that is rewritten: the destination, or the source.
      made.load_transport(destination ? 2 : 0, 2, 0);
      made.within(0, port_octets(mask.first_port), port_octets(mask.last_port));
    }
    load_key(made, source, mask);
    made.map(set_in_kernel(options_, mask));
    made.translate(destination ? NFT_NAT_DNAT : NFT_NAT_SNAT, family_of(mask.version),
                   mask.target_port ? address_octets(mask.version) / 4 : 0);
    made.add_to(batch_);
  }

  /// A packet that is still addressed to the pool after translation is for an unbound port. If it
  /// passed, the kernel would keep its flow untranslated even after the port is bound.
  void guard(const Pool& pool, const std::string& interface) {
    const bool inbound = interface == options_.external_if;
    const auto counter = drop_counter(options_, inbound, DropReason::kNoBinding);
    for (const char* chain : {"input", "forward"}) {
      if (options_.own_table) keep_out(pool, interface, chain, counter);
    }
    // A pool that is routed to the router, whose own route to it leads back.
    leads_back(to_pool("forward", pool, interface), interface, counter);
    // The router's own route to a host leads back: a tracked flow would keep its real source.
    leads_back(translated_from(pool, interface), interface, counter);
  }

 private:
  Rule rule(const std::string& chain) const {
    return {options_.table, name_in_kernel(options_, chain)};
  }

  Rule to_pool(const std::string& chain, const Pool& pool, const std::string& interface) {
    const bool ipv4 = pool.first.version == IpVersion::kIpv4;
    Rule made = rule(chain);
    made.ip_version(family_of(pool.first.version))
        .interface(NFT_META_IIFNAME, interface)
        .load_network(ipv4 ? 16 : 24, address_octets(pool.first.version), 0);
    return in_pool(std::move(made), pool);
  }

  Rule translated_from(const Pool& pool, const std::string& interface) {
    const bool ipv4 = pool.first.version == IpVersion::kIpv4;
    Rule made = rule("forward");
    made.ip_version(family_of(pool.first.version))
        .interface(NFT_META_IIFNAME, interface)
        .ct_direction(kOriginal)
        .ct_bits(NFT_CT_STATUS, IPS_DST_NAT, true)
        .load_ct(ipv4 ? NFT_CT_DST_IP : NFT_CT_DST_IP6, kOriginal, 0);
    return in_pool(std::move(made), pool);
  }

  static Rule in_pool(Rule made, const Pool& pool) {
    const auto size = address_octets(pool.first.version);
    made.within(0, std::span(pool.first.octets).first(size),
                std::span(pool.last.octets).first(size));
    return made;
  }

  void leads_back(Rule made, const std::string& interface, const std::string& counter) {
    made.interface(NFT_META_OIFNAME, interface).count(counter).verdict(NF_DROP).add_to(batch_);
  }

  void keep_out(const Pool& pool, const std::string& interface, const std::string& chain,
                const std::string& counter) {
    for (const std::uint8_t protocol :
         {kProtocolTcp, kProtocolUdp, kProtocolSctp, kProtocolDccp, kProtocolUdpLite}) {
      to_pool(chain, pool, interface)
          .ct_bits(NFT_CT_STATE, NF_CT_STATE_BIT(IP_CT_NEW), true)
          .protocol(protocol)
          .load_transport(2, 2, 0)
          .within(0, port_octets(options_.first_port), port_octets(options_.last_port))
          .count(counter)
          .verdict(NF_DROP)
          .add_to(batch_);
    }
  }

  const Options& options_;
  MessageBuffer& batch_;
};

}  // namespace

void write_nat_rules(const Options& options, const std::vector<Mask>& masks, MessageBuffer& batch) {
  NatRuleWriter writer(options, batch);
  for (const auto& mask : masks) writer.translate(mask);
  for (const auto& pool : options.outside_pool) writer.guard(pool, options.external_if);
  for (const auto& pool : options.inside_pool) writer.guard(pool, options.internal_if);
}

}  // namespace simco::backend::nftables
