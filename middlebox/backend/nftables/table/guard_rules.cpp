// Packets to and from this machine itself: disable rules apply to all of them, enable rules to
// packets for guarded ports, which nothing else lets pass. Packets of this machine to itself are
// not judged.
#include "middlebox/backend/nftables/table/chain_writer.hpp"

// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <string>
#include <utility>

namespace simco::backend::nftables {
namespace {

constexpr const char* kLoopback = "lo";

void lead(const ChainWriter& writer, IpVersion version, const std::string& guarded) {
  for (const auto& [protocol, ports] : writer.options().guards) {
    Rule rule = writer.rule("input");
    rule.ip_version(match::family_of(version)).protocol(protocol).load_transport(2, 2, 0);
    rule.within(0, match::port_octets(ports.first), match::port_octets(ports.last));
    rule.verdict(NFT_GOTO, writer.name(guarded)).add_to(writer.batch());
  }
}

void judge(const ChainWriter& writer, IpVersion version, const std::string& guarded) {
  writer.require_lease(true, guarded);
  for (const auto& mask : writer.masks()) {
    if (mask.purpose != match::Purpose::kEnable || mask.version != version) continue;
    writer.enable(mask, true, guarded, KeySource::kFromOutside);
  }
  writer.finish(writer.rule(guarded), writer.otherwise(true));
}

}  // namespace

void write_guard_rules(const ChainWriter& writer) {
  writer.rule("input")
      .interface(NFT_META_IIFNAME, kLoopback)
      .verdict(NFT_RETURN)
      .add_to(writer.batch());
  writer.rule("output")
      .interface(NFT_META_OIFNAME, kLoopback)
      .verdict(NFT_RETURN)
      .add_to(writer.batch());
  // Without its first fragment, which is judged, a packet is never whole.
  writer.rule("input").later_fragment().verdict(NFT_RETURN).add_to(writer.batch());
  for (const auto version : {IpVersion::kIpv4, IpVersion::kIpv6}) {
    const std::string guarded = version == IpVersion::kIpv4 ? "guarded4" : "guarded6";
    writer.block(version, true, "input", KeySource::kFromOutside);
    writer.block(version, false, "output", KeySource::kFromInside);
    lead(writer, version, guarded);
    judge(writer, version, guarded);
  }
}

}  // namespace simco::backend::nftables
