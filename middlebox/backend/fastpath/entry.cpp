#include "middlebox/backend/fastpath/slot_table.hpp"

#include <algorithm>
#include <optional>

#include "middlebox/backend/fastpath/limits.hpp"
#include "middlebox/backend/fastpath/slot.h"
#include "simco/packet/rule_match.hpp"
#include "simco/wire/ip.hpp"

namespace simco::backend::fastpath {
namespace {

/// The first of consecutive ports of an address; nullopt if there is a wildcard.
std::optional<End> first_end(const AddressTuple& tuple, const packet::Ports& ports) {
  const bool whole = prefix_length(tuple) == address_bits(tuple.ip_version);
  if (!whole || ports.any()) return std::nullopt;
  return End{tuple.address, static_cast<std::uint16_t>(ports.first)};
}

/// The kernel's own stack drops packets from such addresses, or to them.
bool is_never_forwarded(IpVersion version, const End& end) {
  const auto octet = [&](std::size_t i) { return std::to_integer<unsigned>(end.address.at(i)); };
  if (version == IpVersion::kIpv4) return octet(0) == 0 || octet(0) == 127 || octet(0) >= 224;
  const bool link_local = octet(0) == 0xFE && (octet(1) & 0xC0) == 0x80;
  const bool low = std::all_of(end.address.begin(), end.address.begin() + 10,
                               [](std::byte each) { return each == std::byte{}; });
  return low || link_local || octet(0) == 0xFF;  // unspecified, loopback and mapped addresses are
                                                 // low
}

End nth(const End& first, std::uint32_t n) {
  return {first.address, static_cast<std::uint16_t>(first.port + n)};
}

/// The four ends of a rule: A0, A1, A2 and A3 (RFC 5189 section 2.2).
struct Ends {
  std::optional<End> a0, a1, a2, a3;
};

Ends ends_of(const rule::RuleRecord& rule, const packet::Pairing& ports) {
  Ends ends{
      first_end(rule.internal, ports.internal), {}, {}, first_end(rule.external, ports.external)};
  const auto translated = [](const std::optional<AddressTuple>& tuple,
                             const std::optional<End>& otherwise) {
    if (!tuple) return otherwise;
    return first_end(*tuple, {tuple->port, has_ports(*tuple) ? tuple->port_range : 0U});
  };
  ends.a1 = translated(rule.inside, ends.a3);
  ends.a2 = translated(rule.outside, ends.a0);
  return ends;
}

}  // namespace

void make_entries(const rule::RuleRecord& rule, std::vector<Entry>& entries) {
  const auto protocol = rule.internal.protocol;
  const auto version = rule.internal.ip_version;
  if (rule.kind != rule::RuleKind::kEnable) return;
  if (protocol != kProtocolUdp && protocol != kProtocolUdpLite) return;
  if (rule.external.ip_version != version) return;
  const auto ports = packet::pairing_of(rule.internal, rule.external);
  const auto [a0, a1, a2, a3] = ends_of(rule, ports);
  if (!a0 || !a1 || !a2 || !a3 || ports.internal.count != ports.external.count) return;
  if (ports.internal.count > kPortsMax) return;
  for (const auto& end : {*a0, *a1, *a2, *a3}) {
    if (is_never_forwarded(version, end)) return;
  }
  const bool in = rule.parameters.direction != Direction::kOutbound;
  const bool out = rule.parameters.direction != Direction::kInbound;
  const bool translates = rule.inside || rule.outside;
  for (std::uint32_t i = 0; i < ports.internal.count; ++i) {
    Entry entry{version, protocol, 0, nth(*a0, i), nth(*a3, i), translates, {}, {}};
    if (!translates) {
      entry.ways = (in ? FP_INBOUND : 0) | (out ? FP_OUTBOUND : 0);
      entries.push_back(entry);
      continue;
    }
    if (out) {
      entry.ways = FP_OUTBOUND;
      entry.external = nth(*a1, i);
      entry.to_internal = nth(*a2, i);
      entry.to_external = nth(*a3, i);
      entries.push_back(entry);
    }
    if (in) {
      entry.ways = FP_INBOUND;
      entry.internal = nth(*a2, i);
      entry.external = nth(*a3, i);
      entry.to_internal = nth(*a0, i);
      entry.to_external = nth(*a1, i);
      entries.push_back(entry);
    }
  }
}

}  // namespace simco::backend::fastpath
