#include "middlebox/backend/nftables/rule_writer.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
// The kernel's headers go after the C library's.
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "middlebox/backend/match/key_layout.hpp"
#include "middlebox/backend/nftables/rule.hpp"

namespace simco::backend::nftables {
namespace {

using match::address_octets;
using match::family_of;
using match::Field;
using match::FlowDirection;
using match::port_octets;
using match::Purpose;

// --- Loading keys from packets -------------------------------------------------------------------

static_assert(NFPROTO_IPV4 == AF_INET && NFPROTO_IPV6 == AF_INET6);  // what family_of() says

/// Where a packet's key comes from.
enum class Source : std::uint8_t {
  kFromOutside,       ///< headers; the destination is internal
  kFromInside,        ///< headers; the source is internal
  kFlowBegunOutside,  ///< the flow that an ICMP error is about
  kFlowBegunInside,
};

constexpr std::uint8_t kOriginal = 0;
constexpr std::uint8_t kReply = 1;

void load_address(Rule& rule, Source source, bool internal, const Mask& mask, std::uint32_t reg) {
  const bool ipv4 = mask.version == IpVersion::kIpv4;
  const auto size = address_octets(mask.version);
  if (source == Source::kFromOutside || source == Source::kFromInside) {
    const bool is_source = internal == (source == Source::kFromInside);
    const std::uint32_t offset = ipv4 ? (is_source ? 12 : 16) : (is_source ? 8 : 24);
    rule.load_network(offset, size, reg);
  } else {
    // Translated or not, the end that began the flow is the original's source and the other one the
    // reply's source.
    const bool began = internal == (source == Source::kFlowBegunInside);
    rule.load_ct(ipv4 ? NFT_CT_SRC_IP : NFT_CT_SRC_IP6, began ? kOriginal : kReply, reg);
  }
  const auto bits = internal ? mask.internal_bits : mask.external_bits;
  if (!mask.intervals && bits < size * 8) {
    const auto ones = match::prefix_mask(bits);
    rule.mask(reg, std::span(ones).first(size));
  }
}

void load_port(Rule& rule, Source source, bool internal, std::uint32_t reg) {
  if (source == Source::kFromOutside || source == Source::kFromInside) {
    const bool is_source = internal == (source == Source::kFromInside);
    rule.load_transport(is_source ? 0 : 2, 2, reg);
  } else {
    const bool began = internal == (source == Source::kFlowBegunInside);
    rule.load_ct(NFT_CT_PROTO_SRC, began ? kOriginal : kReply, reg);
  }
}

void load_key(Rule& rule, Source source, const Mask& mask) {
  static constexpr std::array<std::byte, 2> kPairMask = {std::byte{0xFF}, std::byte{0xFE}};
  const bool headers = source == Source::kFromOutside || source == Source::kFromInside;
  std::uint32_t reg = 0;
  for (const Field field : fields_of(mask)) {
    switch (field) {
      case Field::kVersion: rule.load_meta(NFT_META_NFPROTO, reg); break;
      case Field::kInternalAddress: load_address(rule, source, true, mask, reg); break;
      case Field::kExternalAddress: load_address(rule, source, false, mask, reg); break;
      case Field::kProtocol:
        if (headers)
          rule.load_meta(NFT_META_L4PROTO, reg);
        else
          rule.load_ct(NFT_CT_PROTOCOL, reg);
        break;
      case Field::kInternalPort:
        load_port(rule, source, true, reg);
        if (mask.internal_port_bits == 15) rule.mask(reg, kPairMask);
        break;
      case Field::kExternalPort:
        load_port(rule, source, false, reg);
        if (mask.external_port_bits == 15) rule.mask(reg, kPairMask);
        break;
    }
    reg += match::round_up(octets_of(field, mask.version)) / 4;
  }
}

/// Both ports are odd, or both are even.
void require_parity(Rule& rule, Source source, bool odd) {
  const std::array<std::byte, 2> lowest = {std::byte{0}, std::byte{1}};
  const std::array<std::byte, 2> wanted = {std::byte{0}, odd ? std::byte{1} : std::byte{0}};
  for (const bool internal : {true, false}) {
    load_port(rule, source, internal, 0);
    rule.mask(0, lowest).equals(0, wanted);
  }
}

// --- Rules ---------------------------------------------------------------------------------------

constexpr std::uint32_t kStateEstablished = NF_CT_STATE_BIT(IP_CT_ESTABLISHED);
constexpr std::uint32_t kStateRelated = NF_CT_STATE_BIT(IP_CT_RELATED);
constexpr std::uint32_t kStateNew = NF_CT_STATE_BIT(IP_CT_NEW);

/// Writes the rules of all chains.
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
    if (!options_.nat) return;
    for (const auto& mask : masks_) translate(mask);
    for (const auto& pool : options_.outside_pool) guard(pool, options_.external_if);
    for (const auto& pool : options_.inside_pool) guard(pool, options_.internal_if);
  }

 private:
  std::string name(const std::string& chain) const { return name_in_kernel(options_, chain); }
  Rule rule(const std::string& chain) const { return {options_.table, name(chain)}; }
  /// What happens to a packet that no rule lets pass.
  int otherwise() const { return options_.own_table ? int{NF_DROP} : int{NFT_RETURN}; }

  void dispatch(IpVersion version, bool outside, const std::string& chain) {
    rule("forward")
        .load_meta(NFT_META_NFPROTO, 0)
        .equals(0, family_of(version))
        .interface(NFT_META_IIFNAME, outside ? options_.external_if : options_.internal_if)
        .interface(NFT_META_OIFNAME, outside ? options_.internal_if : options_.external_if)
        .verdict(NFT_GOTO, name(chain))
        .add_to(batch_);
  }

  void from(IpVersion version, bool outside, const std::string& chain,
            const std::string& errors_chain) {
    const Source source = outside ? Source::kFromOutside : Source::kFromInside;
    block(version, chain, source, {});
    if (options_.allow_outbound && outside) {
      rule(chain)
          .ct_direction(kReply)
          .ct_bits(NFT_CT_STATE, kStateEstablished, true)
          .verdict(NF_ACCEPT)
          .add_to(batch_);
    }
    if (options_.allow_outbound && !outside) {
      if (blocks_protocols(version)) withhold_authenticated(version, chain, source);
      rule(chain).verdict(NF_ACCEPT).add_to(batch_);
      return;
    }
    if (outside ? options_.nat : !options_.inside_pool.empty()) refuse_untranslated(chain);
    enable(version, outside, chain, source);
    std::uint8_t icmp = IPPROTO_ICMP;
    if (version == IpVersion::kIpv6) icmp = IPPROTO_ICMPV6;
    rule(chain)
        .load_meta(NFT_META_L4PROTO, 0)
        .equals(0, icmp)
        .ct_bits(NFT_CT_STATE, kStateRelated, true)
        .verdict(NFT_GOTO, name(errors_chain))
        .add_to(batch_);
    rule(chain).verdict(otherwise()).add_to(batch_);
  }

  /// Blocks packets from outside to the real address of an internal host and, on a twice NAT, from
  /// inside to that of an external one: the kernel would not translate the rest of that flow
  /// either.
  void refuse_untranslated(const std::string& chain) {
    rule(chain)
        .ct_direction(kOriginal)
        .ct_bits(NFT_CT_STATUS, IPS_DST_NAT, false)
        .verdict(otherwise())
        .add_to(batch_);
    rule(chain)
        .ct_direction(kReply)
        .ct_bits(NFT_CT_STATUS, IPS_SRC_NAT, false)
        .verdict(otherwise())
        .add_to(batch_);
  }

  bool blocks_protocols(IpVersion version) const {
    return std::ranges::any_of(masks_, [version](const Mask& mask) {
      return mask.purpose == Purpose::kDisable && mask.version == version && mask.protocol;
    });
  }

  /// An authentication header hides the protocol and ports of a packet: while rules block some, it
  /// needs a rule that lets it pass.
  void withhold_authenticated(IpVersion version, const std::string& chain, Source source) {
    enable(version, false, chain, source);
    rule(chain)
        .load_meta(NFT_META_L4PROTO, 0)
        .equals(0, IPPROTO_AH)
        .verdict(otherwise())
        .add_to(batch_);
  }

  void enable(IpVersion version, bool outside, const std::string& chain, Source source) {
    const FlowDirection packets = outside ? FlowDirection::kInbound : FlowDirection::kOutbound;
    bool sources_checked = !outside || !options_.check_sources;
    for (const auto& mask : masks_) {
      if (mask.purpose != Purpose::kEnable || mask.version != version) continue;
      // A rule for many external hosts is not for internal ones: their addresses are forged.
      if (!sources_checked && mask.external_bits < address_bits(version)) {
        rule(chain).unroutable_source().verdict(otherwise()).add_to(batch_);
        sources_checked = true;
      }
      if (mask.direction == FlowDirection::kBoth || mask.direction == packets) {
        look_up(mask, chain, source, NF_ACCEPT, {});
      } else if (mask.direction == FlowDirection::kInboundConnection) {
        look_up(mask, chain, source, NF_ACCEPT, outside ? kOriginal : kReply);
      } else if (mask.direction == FlowDirection::kOutboundConnection) {
        look_up(mask, chain, source, NF_ACCEPT, outside ? kReply : kOriginal);
      }
    }
  }

  /// ICMP errors that come from one side are about packets that went there.
  void errors(IpVersion version, bool outside, const std::string& chain) {
    // Redirect, and source quench, are for routers and obsolete: related to a flow, but no errors.
    if (version == IpVersion::kIpv4) {
      constexpr std::array kSourceQuench = {std::byte{4}};
      constexpr std::array kRedirect = {std::byte{5}};
      rule(chain)
          .load_transport(0, 1, 0)
          .within(0, kSourceQuench, kRedirect)
          .verdict(otherwise())
          .add_to(batch_);
    }
    // Where an error comes from and who began the flow say which way the error travels.
    const auto direction = [outside](Source source) {
      return (source == Source::kFlowBegunOutside) == outside ? kOriginal : kReply;
    };
    constexpr std::array kSources = {Source::kFlowBegunOutside, Source::kFlowBegunInside};
    for (const Source source : kSources) block(version, chain, source, direction(source));
    if (options_.allow_outbound && outside) {
      rule(chain).ct_direction(kReply).verdict(NF_ACCEPT).add_to(batch_);
    }
    for (const Source source : kSources) {
      const bool begun_outside = source == Source::kFlowBegunOutside;
      const FlowDirection connections =
          begun_outside ? FlowDirection::kInboundConnection : FlowDirection::kOutboundConnection;
      const FlowDirection packets =
          begun_outside ? FlowDirection::kInbound : FlowDirection::kOutbound;
      for (const auto& mask : masks_) {
        if (mask.purpose != Purpose::kEnable || mask.version != version) continue;
        const bool one_way = mask.direction == packets && begun_outside != outside;
        if (mask.direction != FlowDirection::kBoth && mask.direction != connections && !one_way)
          continue;
        look_up(mask, chain, source, NF_ACCEPT, direction(source));
      }
    }
    rule(chain).verdict(otherwise()).add_to(batch_);
  }

  void block(IpVersion version, const std::string& chain, Source source,
             std::optional<std::uint8_t> direction) {
    for (const auto& mask : masks_) {
      if (mask.purpose != Purpose::kDisable || mask.version != version) continue;
      look_up(mask, chain, source, NF_DROP, direction);
    }
  }

  void look_up(const Mask& mask, const std::string& chain, Source source, int verdict,
               std::optional<std::uint8_t> direction) {
    const bool pairs = mask.internal_port_bits == 15 && mask.external_port_bits == 15;
    for (const bool odd : {false, true}) {
      if (odd && !pairs) break;
      Rule made = rule(chain);
      if (direction) made.ct_direction(*direction);
      if (pairs) require_parity(made, source, odd);
      load_key(made, source, mask);
      made.in_set(name(set_name(mask))).verdict(verdict).add_to(batch_);
    }
  }

  void translate(const Mask& mask) {
    if (!mask.translates()) return;
    const bool destination =
        mask.purpose == Purpose::kDestinationOutside || mask.purpose == Purpose::kDestinationInside;
    const bool external =
        mask.purpose == Purpose::kDestinationOutside || mask.purpose == Purpose::kSourceOutside;
    const bool from_outside =
        mask.purpose == Purpose::kDestinationOutside || mask.purpose == Purpose::kSourceInside;
    const Source source = from_outside ? Source::kFromOutside : Source::kFromInside;
    Rule made = rule(destination ? "prerouting" : "postrouting");
    made.load_meta(NFT_META_NFPROTO, 0).equals(0, family_of(mask.version));
    made.interface(destination ? NFT_META_IIFNAME : NFT_META_OIFNAME,
                   external ? options_.external_if : options_.internal_if);
    if (mask.last_port != 0) {
      // The port of the end that is rewritten: the destination, or the source.
      made.load_transport(destination ? 2 : 0, 2, 0);
      made.within(0, port_octets(mask.first_port), port_octets(mask.last_port));
    }
    load_key(made, source, mask);
    made.map(name(set_name(mask)));
    made.translate(destination ? NFT_NAT_DNAT : NFT_NAT_SNAT, family_of(mask.version),
                   mask.target_port ? address_octets(mask.version) / 4 : 0);
    made.add_to(batch_);
  }

  /// What is still addressed to the pool after translation is for a port that is not bound. Were
  /// such a packet let in, or sent on, the kernel would go on taking its flow for one that is not
  /// to be translated when the port is bound.
  void guard(const Pool& pool, const std::string& interface) {
    for (const char* chain : {"input", "forward"}) {
      if (options_.own_table) keep_out(pool, interface, chain);
    }
    // A pool that is routed to the router, whose own route to it leads back.
    to_pool("forward", pool, interface)
        .interface(NFT_META_OIFNAME, interface)
        .verdict(NF_DROP)
        .add_to(batch_);
  }

  Rule to_pool(const std::string& chain, const Pool& pool, const std::string& interface) {
    const bool ipv4 = pool.first.version == IpVersion::kIpv4;
    const auto size = address_octets(pool.first.version);
    Rule made = rule(chain);
    made.load_meta(NFT_META_NFPROTO, 0)
        .equals(0, family_of(pool.first.version))
        .interface(NFT_META_IIFNAME, interface)
        .load_network(ipv4 ? 16 : 24, size, 0)
        .within(0, std::span(pool.first.octets).first(size),
                std::span(pool.last.octets).first(size));
    return made;
  }

  void keep_out(const Pool& pool, const std::string& interface, const std::string& chain) {
    for (const std::uint8_t protocol :
         {kProtocolTcp, kProtocolUdp, kProtocolSctp, kProtocolDccp, kProtocolUdpLite}) {
      to_pool(chain, pool, interface)
          .ct_bits(NFT_CT_STATE, kStateNew, true)
          .load_meta(NFT_META_L4PROTO, 0)
          .equals(0, protocol)
          .load_transport(2, 2, 0)
          .within(0, port_octets(options_.first_port), port_octets(options_.last_port))
          .verdict(NF_DROP)
          .add_to(batch_);
    }
  }

  const Options& options_;
  std::vector<Mask> masks_;
  MessageBuffer& batch_;
};

}  // namespace

void write_rules(const Options& options, std::vector<Mask> masks, MessageBuffer& batch) {
  RuleWriter(options, std::move(masks), batch).write();
}

}  // namespace simco::backend::nftables
