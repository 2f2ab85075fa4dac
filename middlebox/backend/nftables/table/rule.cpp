// Each function appends the libnftnl expressions of a condition or action.
#include "middlebox/backend/nftables/table/rule.hpp"

#include <netinet/in.h>
// The kernel's headers go after the C library's.
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "simco/wire/assert.hpp"

namespace simco::backend::nftables {
namespace {

std::uint32_t number_of(std::uint32_t reg) { return NFT_REG32_00 + reg; }

nftnl_expr* add(nftnl_rule* rule, const char* name) {
  auto* expression = nftnl_expr_alloc(name);
  SIMCO_ASSERT(expression != nullptr);
  nftnl_rule_add_expr(rule, expression);
  return expression;
}

void set_data(nftnl_expr* expression, std::uint16_t attribute, std::span<const std::byte> octets) {
  nftnl_expr_set(expression, attribute, octets.data(), static_cast<std::uint32_t>(octets.size()));
}

}  // namespace

void Rule::Free::operator()(nftnl_rule* rule) const { nftnl_rule_free(rule); }

Rule::Rule(const std::string& table, const std::string& chain) : rule_(nftnl_rule_alloc()) {
  SIMCO_ASSERT(rule_ != nullptr);
  nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, table.c_str());
  nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, chain.c_str());
  nftnl_rule_set_u32(rule_.get(), NFTNL_RULE_FAMILY, NFPROTO_INET);
}

Rule& Rule::load_meta(std::uint32_t key, std::uint32_t reg) {
  auto* meta = add(rule_.get(), "meta");
  nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, key);
  nftnl_expr_set_u32(meta, NFTNL_EXPR_META_DREG, number_of(reg));
  return *this;
}

Rule& Rule::load_ct(std::uint32_t key, std::uint32_t reg) {
  auto* ct = add(rule_.get(), "ct");
  nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, key);
  nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_DREG, number_of(reg));
  return *this;
}

Rule& Rule::load_ct(std::uint32_t key, std::uint8_t direction, std::uint32_t reg) {
  auto* ct = add(rule_.get(), "ct");
  nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, key);
  nftnl_expr_set_u8(ct, NFTNL_EXPR_CT_DIR, direction);
  nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_DREG, number_of(reg));
  return *this;
}

namespace {
void load_payload(nftnl_rule* rule, std::uint32_t base, std::uint32_t offset, std::uint32_t size,
                  std::uint32_t reg) {
  auto* payload = add(rule, "payload");
  nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_BASE, base);
  nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
  nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_LEN, size);
  nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_DREG, number_of(reg));
}
}  // namespace

Rule& Rule::load_network(std::uint32_t offset, std::uint32_t size, std::uint32_t reg) {
  load_payload(rule_.get(), NFT_PAYLOAD_NETWORK_HEADER, offset, size, reg);
  return *this;
}

Rule& Rule::load_transport(std::uint32_t offset, std::uint32_t size, std::uint32_t reg) {
  load_payload(rule_.get(), NFT_PAYLOAD_TRANSPORT_HEADER, offset, size, reg);
  return *this;
}

Rule& Rule::mask(std::uint32_t reg, std::span<const std::byte> mask) {
  static constexpr std::array<std::byte, 16> kNone{};
  auto* bitwise = add(rule_.get(), "bitwise");
  nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_SREG, number_of(reg));
  nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_DREG, number_of(reg));
  nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_LEN, static_cast<std::uint32_t>(mask.size()));
  set_data(bitwise, NFTNL_EXPR_BITWISE_MASK, mask);
  set_data(bitwise, NFTNL_EXPR_BITWISE_XOR, std::span(kNone).first(mask.size()));
  return *this;
}

Rule& Rule::later_fragment() {
  static constexpr std::array<std::byte, 2> kOffset = {std::byte{0xFF}, std::byte{0xF8}};
  static constexpr std::array<std::byte, 2> kFirst{};
  ip_version(NFPROTO_IPV6);
  auto* exthdr = add(rule_.get(), "exthdr");
  nftnl_expr_set_u32(exthdr, NFTNL_EXPR_EXTHDR_DREG, number_of(0));
  nftnl_expr_set_u8(exthdr, NFTNL_EXPR_EXTHDR_TYPE, IPPROTO_FRAGMENT);
  nftnl_expr_set_u32(exthdr, NFTNL_EXPR_EXTHDR_OFFSET, 2);
  nftnl_expr_set_u32(exthdr, NFTNL_EXPR_EXTHDR_LEN, 2);
  nftnl_expr_set_u32(exthdr, NFTNL_EXPR_EXTHDR_OP, NFT_EXTHDR_OP_IPV6);
  return mask(0, kOffset).differs(0, kFirst);
}

namespace {
void compare(nftnl_rule* rule, std::uint32_t operation, std::uint32_t reg,
             std::span<const std::byte> octets) {
  auto* cmp = add(rule, "cmp");
  nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_SREG, number_of(reg));
  nftnl_expr_set_u32(cmp, NFTNL_EXPR_CMP_OP, operation);
  set_data(cmp, NFTNL_EXPR_CMP_DATA, octets);
}
}  // namespace

Rule& Rule::equals(std::uint32_t reg, std::span<const std::byte> octets) {
  compare(rule_.get(), NFT_CMP_EQ, reg, octets);
  return *this;
}

Rule& Rule::differs(std::uint32_t reg, std::span<const std::byte> octets) {
  compare(rule_.get(), NFT_CMP_NEQ, reg, octets);
  return *this;
}

Rule& Rule::equals(std::uint32_t reg, std::uint8_t value) {
  const std::byte octet{value};
  return equals(reg, {&octet, 1});
}

Rule& Rule::ip_version(std::uint8_t family) {
  return load_meta(NFT_META_NFPROTO, 0).equals(0, family);
}

Rule& Rule::protocol(std::uint8_t protocol) {
  return load_meta(NFT_META_L4PROTO, 0).equals(0, protocol);
}

Rule& Rule::not_protocol(std::uint8_t protocol) {
  const std::byte octet{protocol};
  return load_meta(NFT_META_L4PROTO, 0).differs(0, {&octet, 1});
}

namespace {
/// As the kernel compares names of interfaces.
std::array<std::byte, IFNAMSIZ> padded(const std::string& interface) {
  std::array<std::byte, IFNAMSIZ> name{};
  std::memcpy(name.data(), interface.data(), std::min(interface.size(), name.size() - 1));
  return name;
}
}  // namespace

Rule& Rule::interface(std::uint32_t key, const std::string& name) {
  return load_meta(key, 0).equals(0, padded(name));
}

Rule& Rule::ct_bits(std::uint32_t key, std::uint32_t bits, bool set) {
  static constexpr std::uint32_t kZero = 0;
  load_ct(key, 0).mask(0, std::as_bytes(std::span(&bits, 1)));
  compare(rule_.get(), set ? NFT_CMP_NEQ : NFT_CMP_EQ, 0, std::as_bytes(std::span(&kZero, 1)));
  return *this;
}

Rule& Rule::ct_direction(std::uint8_t direction) {
  return load_ct(NFT_CT_DIRECTION, 0).equals(0, direction);
}

Rule& Rule::within(std::uint32_t reg, std::span<const std::byte> first,
                   std::span<const std::byte> last) {
  if (std::ranges::equal(first, last)) return equals(reg, first);  // as nft writes it
  auto* range = add(rule_.get(), "range");
  nftnl_expr_set_u32(range, NFTNL_EXPR_RANGE_SREG, number_of(reg));
  nftnl_expr_set_u32(range, NFTNL_EXPR_RANGE_OP, NFT_RANGE_EQ);
  set_data(range, NFTNL_EXPR_RANGE_FROM_DATA, first);
  set_data(range, NFTNL_EXPR_RANGE_TO_DATA, last);
  return *this;
}

namespace {
/// Puts the property of the route that `flags` select into register 0.
void look_up_route(nftnl_rule* rule, std::uint32_t flags, std::uint32_t result) {
  auto* fib = add(rule, "fib");
  nftnl_expr_set_u32(fib, NFTNL_EXPR_FIB_DREG, number_of(0));
  nftnl_expr_set_u32(fib, NFTNL_EXPR_FIB_RESULT, result);
  nftnl_expr_set_u32(fib, NFTNL_EXPR_FIB_FLAGS, flags);
}
}  // namespace

Rule& Rule::unroutable_source() {
  static constexpr std::uint32_t kNone = 0;
  look_up_route(rule_.get(), NFTA_FIB_F_SADDR | NFTA_FIB_F_IIF, NFT_FIB_RESULT_OIF);
  return equals(0, std::as_bytes(std::span(&kNone, 1)));
}

Rule& Rule::routed_to(const std::string& interface) {
  look_up_route(rule_.get(), NFTA_FIB_F_DADDR, NFT_FIB_RESULT_OIFNAME);
  return equals(0, padded(interface));
}

Rule& Rule::defragment() {
  static constexpr std::array<std::byte, 2> kPort = {std::byte{0}, std::byte{1}};
  auto* immediate = add(rule_.get(), "immediate");
  nftnl_expr_set_u32(immediate, NFTNL_EXPR_IMM_DREG, number_of(0));
  set_data(immediate, NFTNL_EXPR_IMM_DATA, kPort);
  auto* proxy = add(rule_.get(), "tproxy");
  nftnl_expr_set_u32(proxy, NFTNL_EXPR_TPROXY_FAMILY, NFPROTO_UNSPEC);
  nftnl_expr_set_u32(proxy, NFTNL_EXPR_TPROXY_REG_PORT, number_of(0));
  return *this;
}

Rule& Rule::untrack() {
  add(rule_.get(), "notrack");
  return *this;
}

Rule& Rule::in_set(const std::string& set) {
  auto* lookup = add(rule_.get(), "lookup");
  nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SREG, number_of(0));
  nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, set.c_str());
  return *this;
}

Rule& Rule::not_in_set(const std::string& set) {
  auto* lookup = add(rule_.get(), "lookup");
  nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SREG, number_of(0));
  nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, set.c_str());
  nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_FLAGS, NFT_LOOKUP_F_INV);
  return *this;
}

Rule& Rule::map(const std::string& map) {
  auto* lookup = add(rule_.get(), "lookup");
  nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SREG, number_of(0));
  nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_DREG, number_of(0));
  nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, map.c_str());
  return *this;
}

Rule& Rule::translate(std::uint32_t type, std::uint32_t family, std::uint32_t port_reg) {
  auto* nat = add(rule_.get(), "nat");
  nftnl_expr_set_u32(nat, NFTNL_EXPR_NAT_TYPE, type);
  nftnl_expr_set_u32(nat, NFTNL_EXPR_NAT_FAMILY, family);
  nftnl_expr_set_u32(nat, NFTNL_EXPR_NAT_REG_ADDR_MIN, number_of(0));
  if (port_reg != 0) nftnl_expr_set_u32(nat, NFTNL_EXPR_NAT_REG_PROTO_MIN, number_of(port_reg));
  return *this;
}

Rule& Rule::count(const std::string& counter) {
  auto* object = add(rule_.get(), "objref");
  nftnl_expr_set_u32(object, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
  nftnl_expr_set_str(object, NFTNL_EXPR_OBJREF_IMM_NAME, counter.c_str());
  return *this;
}

Rule& Rule::verdict(int code, const std::string& chain) {
  auto* immediate = add(rule_.get(), "immediate");
  nftnl_expr_set_u32(immediate, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
  nftnl_expr_set_u32(immediate, NFTNL_EXPR_IMM_VERDICT, static_cast<std::uint32_t>(code));
  if (!chain.empty()) nftnl_expr_set_str(immediate, NFTNL_EXPR_IMM_CHAIN, chain.c_str());
  return *this;
}

void Rule::add_to(MessageBuffer& batch) {
  auto* message = batch.begin_inet(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
  nftnl_rule_nlmsg_build_payload(message, rule_.get());
  batch.end();
}

}  // namespace simco::backend::nftables
