// An ICMP error passes if the packet that it is about would have passed. Which packet that was is
// known in two ways: connection tracking, if it sees every packet, knows the flow that the error
// belongs to; otherwise the error quotes the packet. TCP connections of rules with a direction are
// tracked in either case.
#include "middlebox/backend/nftables/table/chain_writer.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>

#include <array>
#include <utility>

namespace simco::backend::nftables {
namespace {

using match::FlowDirection;
using match::Purpose;

constexpr std::uint32_t kStateRelated = NF_CT_STATE_BIT(IP_CT_RELATED);
constexpr std::array kFlows = {KeySource::kFlowBegunOutside, KeySource::kFlowBegunInside};

/// A range of types, both ends included.
using Types = std::array<std::byte, 2>;
constexpr Types types(std::uint8_t first, std::uint8_t last) {
  return {std::byte{first}, std::byte{last}};
}

class ErrorRuleWriter {
 public:
  ErrorRuleWriter(const ChainWriter& writer, IpVersion version, bool outside,
                  const std::string& chain)
      : writer_(writer), version_(version), outside_(outside), chain_(chain) {}

  /// Errors are those that connection tracking says are related to a flow.
  void write_tracked() const {
    // Redirect, and source quench, are for routers and obsolete: related to a flow, but no errors.
    if (version_ == IpVersion::kIpv4) refuse_types(types(4, 5));
    for (const KeySource flow : kFlows)
      writer_.block(version_, outside_, chain_, flow, in_direction(direction(flow)));
    if (writer_.options().allow_outbound && outside_) {
      writer_.rule(chain_).ct_direction(kReply).verdict(NF_ACCEPT).add_to(writer_.batch());
    }
    for (const KeySource flow : kFlows) {
      for (const auto& mask : writer_.masks()) {
        if (concerns(mask, flow))
          writer_.look_up(mask, chain_, flow, writer_.accepted(), in_direction(direction(flow)));
      }
    }
    writer_.finish(writer_.rule(chain_), writer_.otherwise(outside_));
  }

  /// Errors are known by their types, and quote the packets that they are about.
  void write_quoted() const {
    if (version_ == IpVersion::kIpv4) {
      for (const auto& others : {types(0, 2), types(4, 10), types(13, 255)}) refuse_types(others);
    } else {
      for (const auto& others : {types(0, 0), types(5, 255)}) refuse_types(others);
    }
    write_quoted(outside_ ? KeySource::kQuotedFromInside : KeySource::kQuotedFromOutside);
    if (version_ == IpVersion::kIpv6) {
      write_quoted(outside_ ? KeySource::kQuotedPieceFromInside
                            : KeySource::kQuotedPieceFromOutside);
    }
    for (const KeySource flow : kFlows) {
      for (const auto& mask : writer_.masks()) {
        if (!match::is_connection(mask.direction) || !concerns(mask, flow)) continue;
        const auto related = [this, flow](Rule& rule) {
          rule.ct_bits(NFT_CT_STATE, kStateRelated, true).ct_direction(direction(flow));
        };
        writer_.look_up(mask, chain_, flow, writer_.accepted(), related);
      }
    }
    writer_.finish(writer_.rule(chain_), writer_.otherwise(outside_));
  }

 private:
  /// The error's source and the side that began the flow determine the error's direction.
  std::uint8_t direction(KeySource flow) const {
    return (flow == KeySource::kFlowBegunOutside) == outside_ ? kOriginal : kReply;
  }

  /// Enable rules of `mask` let packets of such a flow pass to the side that the error comes from.
  bool concerns(const Mask& mask, KeySource flow) const {
    if (mask.purpose != Purpose::kEnable || mask.version != version_) return false;
    const bool begun_outside = flow == KeySource::kFlowBegunOutside;
    switch (mask.direction) {
      case FlowDirection::kBoth: return true;
      case FlowDirection::kInbound: return begun_outside && !outside_;
      case FlowDirection::kOutbound: return !begun_outside && outside_;
      case FlowDirection::kInboundConnection: return begun_outside;
      case FlowDirection::kOutboundConnection: return !begun_outside;
    }
    return false;
  }

  void write_quoted(KeySource quoted) const {
    writer_.block(version_, outside_, chain_, quoted);
    const auto packets = outside_ ? FlowDirection::kOutbound : FlowDirection::kInbound;
    for (const auto& mask : writer_.masks()) {
      if (mask.purpose != Purpose::kEnable || mask.version != version_) continue;
      if (mask.direction == FlowDirection::kBoth || mask.direction == packets)
        writer_.look_up(mask, chain_, quoted, writer_.accepted());
    }
  }

  void refuse_types(const Types& types) const {
    Rule rule = writer_.rule(chain_);
    rule.protocol(icmp_of(version_)).load_transport(0, 1, 0);
    rule.within(0, std::span(types).first(1), std::span(types).last(1));
    writer_.finish(std::move(rule), writer_.otherwise(outside_));
  }

  const ChainWriter& writer_;
  IpVersion version_;
  bool outside_;
  const std::string& chain_;
};

}  // namespace

void write_error_rules(const ChainWriter& writer, IpVersion version, bool outside,
                       const std::string& from, const std::string& errors) {
  const bool tracked = tracks_all(writer.options());
  Rule dispatch = writer.rule(from);
  dispatch.protocol(icmp_of(version));
  if (tracked) dispatch.ct_bits(NFT_CT_STATE, kStateRelated, true);
  dispatch.verdict(NFT_GOTO, writer.name(errors)).add_to(writer.batch());
  const ErrorRuleWriter chain(writer, version, outside, errors);
  if (tracked)
    chain.write_tracked();
  else
    chain.write_quoted();
}

}  // namespace simco::backend::nftables
