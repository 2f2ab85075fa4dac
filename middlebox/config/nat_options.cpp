#include "middlebox/config/nat_options.hpp"

#include <algorithm>

#include "middlebox/policy/limits.hpp"
#include "simco/wire/number.hpp"

namespace simco::middlebox {
namespace {

using policy::AddressRange;

/// How far `last` is behind `first`; at most kPoolAddressesMax, which is too far.
std::uint32_t distance(const IpAddress& first, const IpAddress& last) {
  std::uint32_t steps = 0;
  while (steps < policy::kPoolAddressesMax && policy::advance(first, steps) != last) ++steps;
  return steps;
}

std::expected<AddressRange, std::string> parse_range(const std::string& word) {
  const auto dash = word.find('-');
  if (dash != std::string::npos) {
    const auto first = parse_address(std::string_view(word).substr(0, dash));
    const auto last = parse_address(std::string_view(word).substr(dash + 1));
    if (!first || !last || first->version != last->version || *last < *first) {
      return std::unexpected("expected ADDRESS-ADDRESS in ascending order, got '" + word + "'");
    }
    return AddressRange{*first, distance(*first, *last) + 1};
  }
  const auto prefix = parse_prefix(word);
  if (!prefix) {
    return std::unexpected("expected ADDRESS, ADDRESS-ADDRESS or PREFIX/LENGTH, got '" + word +
                           "'");
  }
  const unsigned host_bits = address_bits(prefix->address.version) - prefix->length;
  return AddressRange{prefix->address, host_bits > 16 ? 65'536U : 1U << host_bits};
}

bool overlap(const AddressRange& a, const AddressRange& b) {
  return a.first <= policy::advance(b.first, b.count - 1) &&
         b.first <= policy::advance(a.first, a.count - 1);
}

}  // namespace

std::expected<std::vector<AddressRange>, std::string> parse_pool(
    const std::vector<std::string>& words) {
  std::vector<AddressRange> pool;
  std::uint32_t addresses = 0;
  for (const auto& word : words) {
    const auto range = parse_range(word);
    if (!range) return std::unexpected(range.error());
    if (std::ranges::any_of(pool, [&](const auto& other) { return overlap(other, *range); })) {
      return std::unexpected("'" + word + "' overlaps another part of the pool");
    }
    pool.push_back(*range);
    addresses += range->count;
    if (addresses > policy::kPoolAddressesMax) {
      return std::unexpected("'" + word + "' makes the pool larger than " +
                             std::to_string(policy::kPoolAddressesMax) + " addresses");
    }
  }
  return pool;
}

bool parse_port_pool(std::string_view text, policy::NatTable::Options& nat) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return false;
  const auto first = parse_number<std::uint16_t>(text.substr(0, dash), 1);
  const auto last = first ? parse_number(text.substr(dash + 1), *first) : std::nullopt;
  if (!last) return false;
  nat.first_port = *first;
  nat.last_port = *last;
  return true;
}

}  // namespace simco::middlebox
