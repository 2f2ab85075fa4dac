// Compares flows with rules by their real ends, and by the address and port that stand for the
// internal end outside.
#include "middlebox/backend/nftables/flows/flow.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace simco::backend::nftables {
namespace {

bool holds(const AddressTuple& tuple, const std::array<std::byte, 16>& address,
           std::uint16_t port) {
  const auto prefix = prefix_of(tuple);
  if (masked({tuple.ip_version, address}, prefix.length) != prefix.address) return false;
  return !has_ports(tuple) || (port >= tuple.port && port - tuple.port < tuple.port_range);
}

bool in_pool(const std::vector<Pool>& pools, IpVersion version,
             const std::array<std::byte, 16>& octets) {
  return std::any_of(pools.begin(), pools.end(), [&](const Pool& pool) {
    return pool.first.version == version && pool.first.octets <= octets &&
           octets <= pool.last.octets;
  });
}

bool in_pools(const Options& options, IpVersion version, const std::array<std::byte, 16>& octets) {
  return in_pool(options.outside_pool, version, octets) ||
         in_pool(options.inside_pool, version, octets);
}

}  // namespace

Ends ends_of(const Flow& flow, bool begun_outside) {
  const auto& original = flow.original;
  Ends ends{original.version, original.protocol,      flow.reply_source,
            original.source,  flow.reply_source_port, original.source_port};
  if (!begun_outside) {
    std::swap(ends.internal, ends.external);
    std::swap(ends.internal_port, ends.external_port);
  }
  return ends;
}

match::Translation translation_of(const Flow& flow, bool begun_outside) {
  match::Translation result{ends_of(flow, begun_outside), flow.reply_destination,
                            flow.reply_destination_port, begun_outside};
  if (begun_outside) {
    result.outside = flow.original.destination;
    result.outside_port = flow.original.destination_port;
  }
  return result;
}

bool belongs_to(const Flow& flow, const RuleRecord& rule, bool begun_outside) {
  const auto [ends, outside, outside_port, _] = translation_of(flow, begun_outside);
  if (rule.internal.ip_version != ends.version) return false;
  if (rule.internal.protocol != kProtocolAny && rule.internal.protocol != ends.protocol)
    return false;
  if (!holds(rule.internal, ends.internal, ends.internal_port)) return false;
  if (!holds(rule.external, ends.external, ends.external_port)) return false;
  // A translated flow belongs to the rule whose binding it uses, even if others would let it pass.
  return holds(*rule.outside, outside, outside_port);
}

bool is_ours_translated(const Options& options, const Flow& flow) {
  const auto version = flow.original.version;
  const bool from_outside =
      flow.destination_translated && in_pools(options, version, flow.original.destination);
  // The site may translate flows without rules to the same addresses.
  const bool to_outside = !options.allow_outbound && flow.source_translated &&
                          in_pools(options, version, flow.reply_destination);
  return from_outside || to_outside;
}

bool is_ours_untranslated(const Options& options, const Flow& flow) {
  const auto port = flow.original.destination_port;
  const bool given_out = port == 0 || (port >= options.first_port && port <= options.last_port);
  return !flow.destination_translated && given_out &&
         in_pools(options, flow.original.version, flow.original.destination);
}

BindingIndex::BindingIndex(std::span<const RuleChange> rules) {
  for (const RuleChange& change : rules) {
    const RuleRecord& rule = change.after;
    if (rule.kind != rule::RuleKind::kEnable || !rule.outside) continue;
    const auto& outside = *rule.outside;
    const auto protocol = outside.port == 0 ? kProtocolAny : outside.protocol;
    rules_[{{outside.ip_version, outside.address}, protocol, outside.port}] = &rule;
  }
}

bool BindingIndex::has(const Flow& flow) const { return has(flow, true) || has(flow, false); }

bool BindingIndex::has(const Flow& flow, bool begun_outside) const {
  const auto translation = translation_of(flow, begun_outside);
  const IpAddress address{flow.original.version, translation.outside};
  for (const auto protocol : {flow.original.protocol, kProtocolAny}) {
    const auto after = rules_.upper_bound({address, protocol, translation.outside_port});
    if (after == rules_.begin()) continue;
    const auto& [key, rule] = *std::prev(after);
    if (std::get<0>(key) != address || std::get<1>(key) != protocol) continue;
    if (belongs_to(flow, *rule, begun_outside)) return true;
  }
  return false;
}

}  // namespace simco::backend::nftables
