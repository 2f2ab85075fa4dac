#include "middlebox/backend/nftables/ruleset.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnftnl/chain.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "middlebox/backend/nftables/rule.hpp"

namespace simco::backend::nftables {
namespace {

constexpr std::uint16_t type_of(int message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

// --- Keys ----------------------------------------------------------------------------------------

enum class Field : std::uint8_t {
  kVersion,  ///< of shapes that compare nothing else
  kInternalAddress,
  kExternalAddress,
  kProtocol,
  kInternalPort,
  kExternalPort,
};

using Fields = absl::InlinedVector<Field, 8>;  // made for every element: no allocation

Fields fields_of(const Shape& shape) {
  if (shape.intervals) {
    return {Field::kInternalAddress, Field::kExternalAddress, Field::kProtocol,
            Field::kInternalPort, Field::kExternalPort};
  }
  Fields fields;
  if (shape.internal_bits != 0) fields.push_back(Field::kInternalAddress);
  if (shape.external_bits != 0) fields.push_back(Field::kExternalAddress);
  if (shape.protocol) fields.push_back(Field::kProtocol);
  if (shape.internal_port_bits != 0) fields.push_back(Field::kInternalPort);
  if (shape.external_port_bits != 0) fields.push_back(Field::kExternalPort);
  if (fields.empty()) fields.push_back(Field::kVersion);
  return fields;
}

std::uint32_t address_octets(IpVersion version) { return version == IpVersion::kIpv4 ? 4 : 16; }

std::uint32_t octets_of(Field field, IpVersion version) {
  switch (field) {
    case Field::kInternalAddress:
    case Field::kExternalAddress: return address_octets(version);
    case Field::kInternalPort:
    case Field::kExternalPort: return 2;
    case Field::kVersion:
    case Field::kProtocol: return 1;
  }
  return 1;
}

/// Registers have 32 bits, and every part of a key begins in one.
constexpr std::uint32_t round_up(std::uint32_t octets) { return (octets + 3) / 4 * 4; }

std::uint32_t key_size(const Shape& shape) {
  std::uint32_t size = 0;
  for (const Field field : fields_of(shape)) size += round_up(octets_of(field, shape.version));
  return size;
}

/// The numbers by which nft knows its types, so that it can print our sets.
std::uint32_t nft_type(Field field, IpVersion version) {
  constexpr std::uint32_t kNfProto = 2;
  constexpr std::uint32_t kIpv4Address = 7;
  constexpr std::uint32_t kIpv6Address = 8;
  constexpr std::uint32_t kInetProto = 12;
  constexpr std::uint32_t kInetService = 13;
  switch (field) {
    case Field::kVersion: return kNfProto;
    case Field::kProtocol: return kInetProto;
    case Field::kInternalAddress:
    case Field::kExternalAddress: return version == IpVersion::kIpv4 ? kIpv4Address : kIpv6Address;
    case Field::kInternalPort:
    case Field::kExternalPort: return kInetService;
  }
  return 0;
}

std::uint32_t nft_type(const Fields& fields, IpVersion version) {
  std::uint32_t type = 0;
  for (const Field field : fields) type = type << 6 | nft_type(field, version);
  return type;
}

std::uint8_t family_of(IpVersion version) {
  return version == IpVersion::kIpv4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
}

// --- Loading keys from packets -------------------------------------------------------------------

/// Where a packet's key comes from.
enum class Source : std::uint8_t {
  kFromOutside,       ///< headers; the destination is internal
  kFromInside,        ///< headers; the source is internal
  kFlowBegunOutside,  ///< the flow that an ICMP error is about
  kFlowBegunInside,
};

constexpr std::uint8_t kOriginal = 0;
constexpr std::uint8_t kReply = 1;

std::array<std::byte, 16> prefix_mask(unsigned bits) {
  IpAddress all{IpVersion::kIpv6, {}};
  all.octets.fill(std::byte{0xFF});
  return masked(all, bits).octets;
}

void load_address(Rule& rule, Source source, bool internal, const Shape& shape, std::uint32_t reg) {
  const bool ipv4 = shape.version == IpVersion::kIpv4;
  const auto size = address_octets(shape.version);
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
  const auto bits = internal ? shape.internal_bits : shape.external_bits;
  if (!shape.intervals && bits < size * 8) {
    const auto mask = prefix_mask(bits);
    rule.mask(reg, std::span(mask).first(size));
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

void load_key(Rule& rule, Source source, const Shape& shape) {
  static constexpr std::array<std::byte, 2> kPairMask = {std::byte{0xFF}, std::byte{0xFE}};
  const bool headers = source == Source::kFromOutside || source == Source::kFromInside;
  std::uint32_t reg = 0;
  for (const Field field : fields_of(shape)) {
    switch (field) {
      case Field::kVersion: rule.load_meta(NFT_META_NFPROTO, reg); break;
      case Field::kInternalAddress: load_address(rule, source, true, shape, reg); break;
      case Field::kExternalAddress: load_address(rule, source, false, shape, reg); break;
      case Field::kProtocol:
        if (headers)
          rule.load_meta(NFT_META_L4PROTO, reg);
        else
          rule.load_ct(NFT_CT_PROTOCOL, reg);
        break;
      case Field::kInternalPort:
        load_port(rule, source, true, reg);
        if (shape.internal_port_bits == 15) rule.mask(reg, kPairMask);
        break;
      case Field::kExternalPort:
        load_port(rule, source, false, reg);
        if (shape.external_port_bits == 15) rule.mask(reg, kPairMask);
        break;
    }
    reg += round_up(octets_of(field, shape.version)) / 4;
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

std::array<std::byte, 2> port_octets(std::uint16_t port) {
  return {static_cast<std::byte>(port >> 8), static_cast<std::byte>(port & 0xFF)};
}

constexpr std::uint32_t kStateEstablished = NF_CT_STATE_BIT(IP_CT_ESTABLISHED);
constexpr std::uint32_t kStateRelated = NF_CT_STATE_BIT(IP_CT_RELATED);
constexpr std::uint32_t kStateNew = NF_CT_STATE_BIT(IP_CT_NEW);

/// Writes the rules of all chains.
class RuleWriter {
 public:
  RuleWriter(const Options& options, const std::vector<Shape>& shapes, MessageBuffer& batch)
      : options_(options), shapes_(shapes), batch_(batch) {
    std::stable_sort(shapes_.begin(), shapes_.end(), [](const Shape& a, const Shape& b) {
      if (a.intervals != b.intervals) return b.intervals;
      return a.specificity() > b.specificity();
    });
  }

  void write() {
    for (const auto version : {IpVersion::kIpv4, IpVersion::kIpv6}) {
      const char* digit = version == IpVersion::kIpv4 ? "4" : "6";
      dispatch(version, true, std::string("from-outside") + digit);
      dispatch(version, false, std::string("from-inside") + digit);
      from(version, true, std::string("from-outside") + digit,
           std::string("errors-outside") + digit);
      from(version, false, std::string("from-inside") + digit,
           std::string("errors-inside") + digit);
      errors(version, true, std::string("errors-outside") + digit);
      errors(version, false, std::string("errors-inside") + digit);
    }
    if (!options_.nat) return;
    for (const auto& shape : shapes_) translate(shape);
    if (options_.own_table) {
      for (const auto& pool : options_.outside_pool) keep_out(pool, options_.external_if);
      for (const auto& pool : options_.inside_pool) keep_out(pool, options_.internal_if);
    }
  }

 private:
  std::string name(const std::string& chain) const {
    return (options_.own_table ? "" : "simco-") + chain;
  }
  std::string set(const Shape& shape) const { return name(set_name(shape)); }
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
    look_up(Purpose::kDisable, version, chain, source, [](const Shape&) { return true; });
    if (options_.allow_outbound && outside) {
      rule(chain)
          .ct_direction(kReply)
          .ct_bits(NFT_CT_STATE, kStateEstablished, true)
          .verdict(NF_ACCEPT)
          .add_to(batch_);
    }
    if (options_.allow_outbound && !outside) {
      rule(chain).verdict(NF_ACCEPT).add_to(batch_);
      return;
    }
    if (options_.nat && outside) refuse_untranslated(chain);
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

  /// Nobody outside may talk to an internal host by its own address.
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

  void enable(IpVersion version, bool outside, const std::string& chain, Source source) {
    const Flow packets = outside ? Flow::kInbound : Flow::kOutbound;
    for (const auto& shape : shapes_) {
      if (shape.purpose != Purpose::kEnable || shape.version != version) continue;
      if (shape.flow == Flow::kBoth || shape.flow == packets) {
        look_up(shape, chain, source, NF_ACCEPT, {});
      } else if (shape.flow == Flow::kInboundConnection) {
        look_up(shape, chain, source, NF_ACCEPT, outside ? kOriginal : kReply);
      } else if (shape.flow == Flow::kOutboundConnection) {
        look_up(shape, chain, source, NF_ACCEPT, outside ? kReply : kOriginal);
      }
    }
  }

  /// ICMP errors that come from one side are about packets that went there.
  void errors(IpVersion version, bool outside, const std::string& chain) {
    for (const Source source : {Source::kFlowBegunOutside, Source::kFlowBegunInside}) {
      look_up(Purpose::kDisable, version, chain, source, [](const Shape&) { return true; });
    }
    if (options_.allow_outbound && outside) {
      rule(chain).ct_direction(kReply).verdict(NF_ACCEPT).add_to(batch_);
    }
    look_up(Purpose::kEnable, version, chain, Source::kFlowBegunOutside, [&](const Shape& shape) {
      return shape.flow == Flow::kBoth || shape.flow == Flow::kInboundConnection ||
             (shape.flow == Flow::kInbound && !outside);
    });
    look_up(Purpose::kEnable, version, chain, Source::kFlowBegunInside, [&](const Shape& shape) {
      return shape.flow == Flow::kBoth || shape.flow == Flow::kOutboundConnection ||
             (shape.flow == Flow::kOutbound && outside);
    });
    rule(chain).verdict(otherwise()).add_to(batch_);
  }

  template <typename Wanted>
  void look_up(Purpose purpose, IpVersion version, const std::string& chain, Source source,
               Wanted&& wanted) {
    const int verdict = purpose == Purpose::kDisable ? NF_DROP : NF_ACCEPT;
    const bool headers = source == Source::kFromOutside || source == Source::kFromInside;
    for (const auto& shape : shapes_) {
      if (shape.purpose != purpose || shape.version != version || !wanted(shape)) continue;
      std::optional<std::uint8_t> direction;
      if (!headers) {
        // Where an error comes from and who began the flow say which way the error travels.
        const bool began_outside = source == Source::kFlowBegunOutside;
        const bool from_outside = chain.starts_with("errors-outside");
        direction = began_outside == from_outside ? kOriginal : kReply;
      }
      look_up(shape, chain, source, verdict, direction);
    }
  }

  void look_up(const Shape& shape, const std::string& chain, Source source, int verdict,
               std::optional<std::uint8_t> direction) {
    const bool pairs = shape.internal_port_bits == 15 && shape.external_port_bits == 15;
    for (const bool odd : {false, true}) {
      if (odd && !pairs) break;
      Rule made = rule(chain);
      if (direction) made.ct_direction(*direction);
      if (pairs) require_parity(made, source, odd);
      load_key(made, source, shape);
      made.in_set(set(shape)).verdict(verdict).add_to(batch_);
    }
  }

  void translate(const Shape& shape) {
    if (!shape.translates()) return;
    const bool destination = shape.purpose == Purpose::kDestinationOutside ||
                             shape.purpose == Purpose::kDestinationInside;
    const bool external =
        shape.purpose == Purpose::kDestinationOutside || shape.purpose == Purpose::kSourceOutside;
    const bool from_outside =
        shape.purpose == Purpose::kDestinationOutside || shape.purpose == Purpose::kSourceInside;
    const Source source = from_outside ? Source::kFromOutside : Source::kFromInside;
    Rule made = rule(destination ? "prerouting" : "postrouting");
    made.load_meta(NFT_META_NFPROTO, 0).equals(0, family_of(shape.version));
    made.interface(destination ? NFT_META_IIFNAME : NFT_META_OIFNAME,
                   external ? options_.external_if : options_.internal_if);
    if (shape.last_port != 0) {
      // The port of the end that is rewritten: the destination, or the source.
      made.load_transport(destination ? 2 : 0, 2, 0);
      made.within(0, port_octets(shape.first_port), port_octets(shape.last_port));
    }
    load_key(made, source, shape);
    made.map(set(shape));
    made.translate(destination ? NFT_NAT_DNAT : NFT_NAT_SNAT, family_of(shape.version),
                   shape.target_port ? address_octets(shape.version) / 4 : 0);
    made.add_to(batch_);
  }

  /// Were such packets let in, the kernel would go on taking their flow for the router's own when
  /// the port is bound.
  void keep_out(const Pool& pool, const std::string& interface) {
    const bool ipv4 = pool.first.version == IpVersion::kIpv4;
    const auto size = address_octets(pool.first.version);
    for (const std::uint8_t protocol :
         {kProtocolTcp, kProtocolUdp, kProtocolSctp, kProtocolDccp, kProtocolUdpLite}) {
      rule("input")
          .load_meta(NFT_META_NFPROTO, 0)
          .equals(0, family_of(pool.first.version))
          .interface(NFT_META_IIFNAME, interface)
          .ct_bits(NFT_CT_STATE, kStateNew, true)
          .load_meta(NFT_META_L4PROTO, 0)
          .equals(0, protocol)
          .load_network(ipv4 ? 16 : 24, size, 0)
          .within(0, std::span(pool.first.octets).first(size),
                  std::span(pool.last.octets).first(size))
          .load_transport(2, 2, 0)
          .within(0, port_octets(options_.first_port), port_octets(options_.last_port))
          .verdict(NF_DROP)
          .add_to(batch_);
    }
  }

  const Options& options_;
  std::vector<Shape> shapes_;
  MessageBuffer& batch_;
};

// --- Objects -------------------------------------------------------------------------------------

struct Hook {
  const char* chain;
  const char* type;
  std::uint32_t number;
  std::int32_t priority;
  bool nat;  ///< only where the middlebox translates
};
constexpr std::int32_t kPriorityDstNat = -100;
constexpr std::int32_t kPriorityFilter = 0;
constexpr std::int32_t kPrioritySrcNat = 100;
constexpr std::array<Hook, 4> kHooks = {{
    {"forward", "filter", NF_INET_FORWARD, kPriorityFilter, false},
    {"prerouting", "nat", NF_INET_PRE_ROUTING, kPriorityDstNat, true},
    {"postrouting", "nat", NF_INET_POST_ROUTING, kPrioritySrcNat, true},
    {"input", "filter", NF_INET_LOCAL_IN, kPriorityFilter, true},
}};
constexpr std::array<const char*, 8> kInner = {
    "from-outside4",   "from-outside6",   "from-inside4",   "from-inside6",
    "errors-outside4", "errors-outside6", "errors-inside4", "errors-inside6"};

void put_text(nlmsghdr* message, std::uint16_t attribute, const std::string& text) {
  mnl_attr_put_strz(message, attribute, text.c_str());
}

void add_chain(const Options& options, const std::string& name, const Hook* hook,
               MessageBuffer& batch) {
  auto* message = batch.begin(type_of(NFT_MSG_NEWCHAIN), NLM_F_CREATE, NFPROTO_INET);
  const std::unique_ptr<nftnl_chain, decltype(&nftnl_chain_free)> chain(nftnl_chain_alloc(),
                                                                        &nftnl_chain_free);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, options.table.c_str());
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name.c_str());
  if (hook != nullptr) {
    nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, hook->type);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, hook->number);
    nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, hook->priority);
    nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
  }
  nftnl_chain_nlmsg_build_payload(message, chain.get());
  batch.end();
}

}  // namespace

std::string Ruleset::chain(const char* name) const {
  return (options_.own_table ? "" : "simco-") + std::string(name);
}

std::vector<std::string> Ruleset::entry_chains() const {
  std::vector<std::string> names;
  for (const auto& hook : kHooks) {
    if (hook.nat && !options_.nat) continue;
    // The site's own input chain is the site's.
    if (hook.number == NF_INET_LOCAL_IN && !options_.own_table) continue;
    names.push_back(chain(hook.chain));
  }
  return names;
}

std::vector<std::string> Ruleset::chains() const {
  auto names = entry_chains();
  for (const char* inner : kInner) names.push_back(chain(inner));
  return names;
}

void Ruleset::add_frame(MessageBuffer& batch) const {
  if (options_.own_table) {
    auto* message = batch.begin(type_of(NFT_MSG_NEWTABLE), NLM_F_CREATE, NFPROTO_INET);
    put_text(message, NFTA_TABLE_NAME, options_.table);
    const std::string comment = kTableComment;
    std::string userdata = {static_cast<char>(NFTNL_UDATA_TABLE_COMMENT),
                            static_cast<char>(comment.size() + 1)};
    userdata += comment + '\0';
    mnl_attr_put(message, NFTA_TABLE_USERDATA, userdata.size(), userdata.data());
    batch.end();
    for (const auto& hook : kHooks) {
      if (!hook.nat || options_.nat) add_chain(options_, chain(hook.chain), &hook, batch);
    }
  }
  for (const char* inner : kInner) add_chain(options_, chain(inner), nullptr, batch);
}

void Ruleset::add_set(const Shape& shape, MessageBuffer& batch) const {
  auto* message = batch.begin(type_of(NFT_MSG_NEWSET), NLM_F_CREATE, NFPROTO_INET);
  const std::unique_ptr<nftnl_set, decltype(&nftnl_set_free)> set(nftnl_set_alloc(),
                                                                  &nftnl_set_free);
  const auto fields = fields_of(shape);
  std::uint32_t flags = NFT_SET_TIMEOUT;
  if (shape.intervals) flags |= NFT_SET_INTERVAL | NFT_SET_CONCAT;
  if (shape.translates()) flags |= NFT_SET_MAP;
  nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, options_.table.c_str());
  nftnl_set_set_str(set.get(), NFTNL_SET_NAME, set_in_kernel(shape).c_str());
  static std::uint32_t id = 0;
  nftnl_set_set_u32(set.get(), NFTNL_SET_ID, ++id);
  nftnl_set_set_u32(set.get(), NFTNL_SET_FAMILY, NFPROTO_INET);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE, nft_type(fields, shape.version));
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN, key_size(shape));
  if (shape.translates()) {
    Fields data = {Field::kInternalAddress};
    if (shape.target_port) data.push_back(Field::kInternalPort);
    nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_TYPE, nft_type(data, shape.version));
    nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_LEN, target_octets(shape, {}).size);
  }
  nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, flags);
  if (shape.intervals) {
    std::array<std::uint8_t, 8> lengths{};
    for (std::size_t i = 0; i < fields.size(); ++i) {
      lengths[i] = static_cast<std::uint8_t>(octets_of(fields[i], shape.version));
    }
    nftnl_set_set_data(set.get(), NFTNL_SET_DESC_CONCAT, lengths.data(),
                       static_cast<std::uint32_t>(fields.size()));
  }
  nftnl_set_nlmsg_build_payload(message, set.get());
  batch.end();
}

void Ruleset::remove_set(const Shape& shape, MessageBuffer& batch) const {
  auto* message = batch.begin(type_of(NFT_MSG_DELSET), 0, NFPROTO_INET);
  put_text(message, NFTA_SET_TABLE, options_.table);
  put_text(message, NFTA_SET_NAME, set_in_kernel(shape));
  batch.end();
}

void Ruleset::flush_chain(const std::string& name, MessageBuffer& batch) const {
  auto* message = batch.begin(type_of(NFT_MSG_DELRULE), 0, NFPROTO_INET);
  put_text(message, NFTA_RULE_TABLE, options_.table);
  put_text(message, NFTA_RULE_CHAIN, name);
  batch.end();
}

void Ruleset::replace_rules(const std::vector<Shape>& shapes, MessageBuffer& batch) const {
  for (const auto& name : chains()) flush_chain(name, batch);
  RuleWriter(options_, shapes, batch).write();
}

void Ruleset::remove_table(MessageBuffer& batch) const {
  auto* message = batch.begin(type_of(NFT_MSG_DELTABLE), 0, NFPROTO_INET);
  put_text(message, NFTA_TABLE_NAME, options_.table);
  batch.end();
}

void Ruleset::clear_site_table(const TableState& state, MessageBuffer& batch) const {
  for (const auto& name : chains()) {
    if (state.chains.contains(name)) flush_chain(name, batch);
  }
  for (const char* inner : kInner) {
    if (!state.chains.contains(chain(inner))) continue;
    auto* message = batch.begin(type_of(NFT_MSG_DELCHAIN), 0, NFPROTO_INET);
    put_text(message, NFTA_CHAIN_TABLE, options_.table);
    put_text(message, NFTA_CHAIN_NAME, chain(inner));
    batch.end();
  }
  for (const auto& set : state.sets) {
    if (!is_ours(set)) continue;
    auto* message = batch.begin(type_of(NFT_MSG_DELSET), 0, NFPROTO_INET);
    put_text(message, NFTA_SET_TABLE, options_.table);
    put_text(message, NFTA_SET_NAME, set);
    batch.end();
  }
}

// --- Octets --------------------------------------------------------------------------------------

KeyOctets key_octets(const Shape& shape, const Key& key, bool end) {
  KeyOctets result;
  const auto put = [&](std::span<const std::byte> octets) {
    std::copy(octets.begin(), octets.end(), result.octets.begin() + result.size);
    result.size += round_up(static_cast<std::uint32_t>(octets.size()));
  };
  const auto put_address = [&](std::array<std::byte, 16> address, unsigned bits) {
    if (end) {
      const auto mask = prefix_mask(bits);
      for (std::size_t i = 0; i < address.size(); ++i) address[i] |= ~mask[i];
    }
    put(std::span(address).first(address_octets(shape.version)));
  };
  for (const Field field : fields_of(shape)) {
    std::byte octet{family_of(shape.version)};
    switch (field) {
      case Field::kVersion: put({&octet, 1}); break;
      case Field::kInternalAddress: put_address(key.internal, key.internal_bits); break;
      case Field::kExternalAddress: put_address(key.external, key.external_bits); break;
      case Field::kProtocol:
        octet = key.any_protocol == 0 ? std::byte{key.protocol} : std::byte(end ? 255 : 0);
        put({&octet, 1});
        break;
      case Field::kInternalPort:
        put(port_octets(end ? key.internal_last : key.internal_port));
        break;
      case Field::kExternalPort:
        put(port_octets(end ? key.external_last : key.external_port));
        break;
    }
  }
  return result;
}

KeyOctets target_octets(const Shape& shape, const Target& target) {
  KeyOctets result;
  const auto size = address_octets(shape.version);
  std::copy_n(target.address.begin(), size, result.octets.begin());
  result.size = size;
  if (!shape.target_port) return result;
  const auto port = port_octets(target.port);
  std::copy(port.begin(), port.end(), result.octets.begin() + size);
  result.size += round_up(2);
  return result;
}

}  // namespace simco::backend::nftables
