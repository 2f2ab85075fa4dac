// Files rules by the masks of their elements. If there are too many masks or keys, or a port range
// is too large for elements, ranges of ports and masks that compare less stand in.
#include "middlebox/backend/nftables/flows/ended_rules.hpp"

#include <algorithm>
#include <utility>

#include "middlebox/backend/nftables/limits.hpp"

namespace simco::backend::nftables {
namespace {

constexpr std::uint16_t kPortMax = 65535;

bool is_any_port(std::uint16_t first, std::uint16_t last) { return first == 0 && last == kPortMax; }

}  // namespace

void EndedRules::add(const RuleRecord& rule) {
  RuleRecord filter = rule;
  const bool translated = rule.outside.has_value();
  if (translated) {
    filter.internal = *rule.outside;
    filter.internal.protocol = rule.internal.protocol;
  }
  filter.outside.reset();
  filter.inside.reset();
  filter.kind = rule::RuleKind::kEnable;
  filter.parameters.direction = Direction::kBidirectional;
  elements_.clear();
  match::make_elements(filter, elements_);
  for (const Element& element : elements_) {
    if (!put(element, translated)) return put_roughly(filter, translated);
  }
}

bool EndedRules::put(const Element& element, bool translated) {
  Where where{translated, Side::kNone, element.mask};
  Key key = element.key;
  PortRange range{};
  if (element.mask.intervals) {
    // The ports of a side are a range, those of the other do not matter.
    const bool internal = is_any_port(key.external_port, key.external_last);
    where.ranges = internal ? Side::kInternal : Side::kExternal;
    range = internal ? PortRange{key.internal_port, key.internal_last}
                     : PortRange{key.external_port, key.external_last};
    where.mask.internal_bits = std::exchange(key.internal_bits, std::uint8_t{0});
    where.mask.external_bits = std::exchange(key.external_bits, std::uint8_t{0});
    where.mask.protocol = std::exchange(key.any_protocol, std::uint8_t{0}) == 0;
    key.internal_port = key.internal_last = key.external_port = key.external_last = 0;
    if (!where.mask.protocol) key.protocol = 0;
  }
  const bool known = sets_.contains(where) || ranges_.contains(where);
  if (keys_ >= kEndedKeysMax || (!known && places() >= kEndedPlacesMax)) return false;
  if (where.ranges == Side::kNone) {
    keys_ += sets_[where].insert(key).second ? 1 : 0;
  } else {
    const auto [place, inserted] = ranges_[where].try_emplace(key);
    keys_ += inserted ? 1 : 0;
    join(place->second, range);
  }
  return true;
}

// All ports and protocols, between prefixes that are rounded down to a quarter of an address: so
// there are 25 of these places for each IP version, translated or not. Flows of rules in force and
// the router's own are not ended in any case. Only flows that other rules of the site let pass are
// left. The kernel makes their entries again with the next packet, as it did with the first: it
// evaluates the rules once more, and if these let only packets from one side begin a flow
// (--allow-outbound), packets from the other side wait for such a packet.
void EndedRules::put_roughly(const RuleRecord& filter, bool translated) {
  const auto quarter = address_bits(filter.internal.ip_version) / 4U;
  const auto rounded = [&](const AddressTuple& tuple) {
    return static_cast<std::uint8_t>(prefix_of(tuple).length / quarter * quarter);
  };
  Mask mask;
  mask.version = filter.internal.ip_version;
  mask.internal_bits = rounded(filter.internal);
  mask.external_bits = rounded(filter.external);
  const Ends ends{mask.version, 0, filter.internal.address, filter.external.address, 0, 0};
  sets_[{translated, Side::kNone, mask}].insert(key_of(mask, ends));
}

void EndedRules::join(PortRanges& ranges, PortRange added) {
  std::erase_if(ranges, [&](const PortRange& other) {
    if (other.last + 1 < added.first || added.last + 1 < other.first) return false;
    added = {std::min(added.first, other.first), std::max(added.last, other.last)};
    return true;
  });
  ranges.push_back(added);
}

void EndedRules::clear() {
  sets_.clear();
  ranges_.clear();
  keys_ = 0;
}

void EndedRules::swap(EndedRules& other) {
  sets_.swap(other.sets_);
  ranges_.swap(other.ranges_);
  std::swap(keys_, other.keys_);
}

bool EndedRules::covered(const Ends& ends, bool translated) const {
  const auto is_here = [&](const Where& where) {
    return where.translated == translated && where.mask.version == ends.version;
  };
  const bool in_set = std::ranges::any_of(sets_, [&](const auto& entry) {
    const auto& [where, keys] = entry;
    return is_here(where) && ports_match(where.mask, ends) &&
           keys.contains(key_of(where.mask, ends));
  });
  if (in_set) return true;
  return std::ranges::any_of(ranges_, [&](const auto& entry) {
    const auto& [where, keys] = entry;
    if (!is_here(where)) return false;
    const auto found = keys.find(key_of(where.mask, ends));
    if (found == keys.end()) return false;
    const auto port = where.ranges == Side::kInternal ? ends.internal_port : ends.external_port;
    return std::ranges::any_of(found->second, [port](const PortRange& range) {
      return port >= range.first && port <= range.last;
    });
  });
}

}  // namespace simco::backend::nftables
