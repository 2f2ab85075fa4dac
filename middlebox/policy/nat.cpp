#include "middlebox/policy/nat.hpp"

#include <algorithm>

#include "middlebox/policy/checks.hpp"
#include "simco/wire/assert.hpp"

namespace simco::policy {
namespace {

/// The host that `tuple` names, where it names one.
std::optional<IpAddress> host_of(const AddressTuple& tuple) {
  const auto prefix = prefix_of(tuple);
  if (prefix.length != address_bits(tuple.ip_version)) return std::nullopt;
  return prefix.address;
}

// What a pool has to give for one side of a rule. Where the side wildcards its ports, one binding
// may stand for all of them as long as they only send (their replies find back); where they are
// sent to, each needs a port of its own, the one with the same number.
AddressPool::Request request_for(const AddressTuple& own, const AddressTuple& other,
                                 bool sends_only, PortParity parity) {
  AddressPool::Request request;
  request.protocol = own.protocol;
  request.host = host_of(own);
  if (has_ports(own)) {
    request.ports = own.port_range;
    if (parity == PortParity::kSame) request.parity = parity_of(own.port);
  } else if (sends_only) {
    request.ports = has_ports(other) ? other.port_range : std::uint16_t{1};
  } else {
    request.ports = AddressPool::kAllPorts;
  }
  return request;
}

AddressPool::Request outside_request(const AddressTuple& internal, const AddressTuple& external,
                                     PerParameterSet parameters) {
  const bool sends_only = parameters.direction == Direction::kOutbound;
  return request_for(internal, external, sends_only, parameters.parity);
}

AddressPool::Request inside_request(const AddressTuple& internal, const AddressTuple& external,
                                    PerParameterSet parameters) {
  const bool sends_only = parameters.direction == Direction::kInbound;
  return request_for(external, internal, sends_only, parameters.parity);
}

AddressTuple tuple_of(const AddressPool& pool, const Binding& binding, std::uint8_t protocol,
                      Location location) {
  const auto address = pool.address(binding.address);
  AddressTuple tuple;
  tuple.ip_version = address.version;
  tuple.prefix_length = address_bits(address.version);
  tuple.protocol = protocol;
  tuple.location = location;
  tuple.port = binding.port;
  tuple.port_range = std::max<std::uint16_t>(binding.ports, 1);  // 4.3.8: at least 1
  tuple.address = address.octets;
  return tuple;
}

/// Does a binding of so many ports from `binding.port` on do for `request`?
std::optional<NegativeReplyCode> check_binding(const Binding& binding,
                                               const AddressPool::Request& request,
                                               std::uint16_t all_ports) {
  if (binding.ports == 0) return std::nullopt;  // a whole address, for a rule of any protocol
  const auto ports = request.ports == AddressPool::kAllPorts ? all_ports : request.ports;
  if (binding.ports != ports) return NegativeReplyCode::kInconsistentRequest;
  if (request.parity != Parity::kAny && parity_of(binding.port) != request.parity) {
    return NegativeReplyCode::kParityMismatch;
  }
  return std::nullopt;
}

}  // namespace

NatTable::Pools NatTable::make_pools(const Options& options,
                                     const std::vector<AddressRange>& ranges) {
  AddressPool::Options ipv4{{}, options.first_port, options.last_port, options.paired};
  AddressPool::Options ipv6 = ipv4;
  for (const auto& range : ranges) {
    (range.first.version == IpVersion::kIpv4 ? ipv4 : ipv6).ranges.push_back(range);
  }
  return {AddressPool(ipv4), AddressPool(ipv6)};
}

NatTable::NatTable(const Options& options)
    : mode_(options.mode),
      outside_(make_pools(options, options.outside)),
      inside_(make_pools(options, options.inside)) {}

std::uint8_t NatTable::versions() const {
  std::uint8_t versions = 0;
  for (const auto version : {IpVersion::kIpv4, IpVersion::kIpv6}) {
    const bool outside = !outside_.of(version).empty();
    const bool inside = mode_ != Mode::kTwiceNat || !inside_.of(version).empty();
    if (outside && inside) versions |= static_cast<std::uint8_t>(version);
  }
  return versions;
}

NatTable::Bindings& NatTable::at(RuleSlot slot) {
  if (slot.value >= bindings_.size()) bindings_.resize(slot.value + 1);
  return bindings_[slot.value];
}

std::optional<NegativeReplyCode> NatTable::take(RuleSlot slot, IpVersion version,
                                                const AddressPool::Request& outside,
                                                const AddressPool::Request& inside) {
  Bindings& bindings = at(slot);
  const auto taken = outside_.of(version).take(outside);
  if (!taken) return taken.error();
  bindings = {*taken, {}};
  if (mode_ != Mode::kTwiceNat) return std::nullopt;
  const auto taken_inside = inside_.of(version).take(inside);
  if (taken_inside) {
    bindings.inside = *taken_inside;
    return std::nullopt;
  }
  outside_.of(version).give_back(bindings.outside, outside.protocol, outside.host);
  bindings = {};
  return taken_inside.error();
}

std::optional<NegativeReplyCode> NatTable::take(RuleSlot slot, const Reservation& wanted) {
  const AddressPool::Request request{wanted.protocol, wanted.ports, wanted.parity, {}};
  return take(slot, wanted.version, request, request);
}

std::optional<NegativeReplyCode> NatTable::take(RuleSlot slot, const Rule& rule) {
  return take(slot, rule.internal.ip_version,
              outside_request(rule.internal, rule.external, rule.parameters),
              inside_request(rule.internal, rule.external, rule.parameters));
}

bool NatTable::take_again(RuleSlot slot, const Rule& rule,
                          const std::optional<AddressTuple>& outside,
                          const std::optional<AddressTuple>& inside) {
  const auto take = [&](AddressPool& pool, const std::optional<AddressTuple>& tuple,
                        Binding& binding) {
    if (!tuple || tuple->ip_version != rule.internal.ip_version) return false;
    const auto ports = tuple->port == 0 ? std::uint16_t{0} : tuple->port_range;
    return pool.take_again({tuple->ip_version, tuple->address}, rule.internal.protocol, tuple->port,
                           ports, binding);
  };
  const auto version = rule.internal.ip_version;
  Bindings bindings;
  if (!take(outside_.of(version), outside, bindings.outside)) return false;
  if (mode_ == Mode::kTwiceNat && !take(inside_.of(version), inside, bindings.inside)) {
    outside_.of(version).give_back(bindings.outside, rule.internal.protocol, {});
    return false;
  }
  at(slot) = bindings;
  adopt(slot, rule);
  return true;
}

void NatTable::adopt(RuleSlot slot, const Rule& rule) {
  const auto version = rule.internal.ip_version;
  Bindings& bindings = at(slot);
  if (const auto host = host_of(rule.internal)) outside_.of(version).pair(bindings.outside, *host);
  if (mode_ != Mode::kTwiceNat) return;
  if (const auto host = host_of(rule.external)) inside_.of(version).pair(bindings.inside, *host);
}

std::optional<NegativeReplyCode> NatTable::check_reserved(RuleSlot slot,
                                                          const AddressTuple& internal,
                                                          const AddressTuple& external,
                                                          PerParameterSet parameters) const {
  const Bindings& bindings = at(slot);
  const auto& pool = outside_.of(internal.ip_version);
  if (const auto code = check_binding(
          bindings.outside, outside_request(internal, external, parameters), pool.port_count())) {
    return code;
  }
  if (mode_ != Mode::kTwiceNat) return std::nullopt;
  return check_binding(bindings.inside, inside_request(internal, external, parameters),
                       pool.port_count());
}

void NatTable::give_back(RuleSlot slot, const Rule& rule) {
  const auto version = rule.internal.ip_version;
  Bindings& bindings = at(slot);
  const auto protocol = rule.internal.protocol;
  outside_.of(version).give_back(bindings.outside, protocol, host_of(rule.internal));
  if (mode_ == Mode::kTwiceNat) {
    inside_.of(version).give_back(bindings.inside, protocol, host_of(rule.external));
  }
  bindings = {};
}

AddressTuple NatTable::outside(RuleSlot slot, const Rule& rule) const {
  const auto& pool = outside_.of(rule.internal.ip_version);
  return tuple_of(pool, at(slot).outside, rule.internal.protocol, Location::kOutside);
}

AddressTuple NatTable::inside(RuleSlot slot, const Rule& rule) const {
  SIMCO_ASSERT(mode_ == Mode::kTwiceNat);
  const auto& pool = inside_.of(rule.internal.ip_version);
  return tuple_of(pool, at(slot).inside, rule.internal.protocol, Location::kInside);
}

}  // namespace simco::policy
