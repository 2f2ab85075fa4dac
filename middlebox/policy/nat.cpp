// Translates rules into needs of the pools, shares bindings among rules of the same owner and
// endpoint, and adopts reservations that are enabled.
#include "middlebox/policy/nat.hpp"

#include <algorithm>
#include <boost/container_hash/hash.hpp>

#include "middlebox/policy/checks.hpp"
#include "simco/wire/assert.hpp"

namespace simco::policy {
namespace {

/// Returns the host of `tuple`, if it has full length.
std::optional<IpAddress> host_of(const AddressTuple& tuple) {
  const auto prefix = prefix_of(tuple);
  if (prefix.length != address_bits(tuple.ip_version)) return std::nullopt;
  return prefix.address;
}

// Returns the need of a side of a rule. If the side wildcards its ports, a single binding may
// represent them as long as they only send (replies are translated back); if they also receive,
// each needs a port of its own, with the same number.
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
    request.ports = kAnyPortRange;
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
  const auto ports = request.ports == kAnyPortRange ? all_ports : request.ports;
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
      outside_{make_pools(options, options.outside), {}},
      inside_{make_pools(options, options.inside), {}} {}

std::uint8_t NatTable::versions() const {
  std::uint8_t versions = 0;
  for (const auto version : {IpVersion::kIpv4, IpVersion::kIpv6}) {
    const bool outside = !outside_.pools.of(version).empty();
    const bool inside = mode_ != Mode::kTwiceNat || !inside_.pools.of(version).empty();
    if (outside && inside) versions |= static_cast<std::uint8_t>(version);
  }
  return versions;
}

NatTable::Bindings& NatTable::at(RuleSlot slot) {
  if (slot.value >= bindings_.size()) bindings_.resize(slot.value + 1);
  return bindings_[slot.value];
}

// --- Endpoints and their bindings --------------------------------------------------------------

std::size_t NatTable::Hash::operator()(const Endpoint& endpoint) const {
  std::size_t seed = 0;
  boost::hash_combine(seed, endpoint.owner.value);
  boost::hash_range(seed, reinterpret_cast<const char*>(endpoint.address.octets.data()),
                    reinterpret_cast<const char*>(endpoint.address.octets.data()) +
                        endpoint.address.octets.size());
  boost::hash_combine(seed, std::uint32_t{endpoint.protocol} << 16 | endpoint.port);
  boost::hash_combine(seed, std::uint32_t{endpoint.range} << 16 | endpoint.ports);
  return seed;
}

NatTable::Need NatTable::make_need(AgentId owner, const AddressTuple& own,
                                   const AddressPool::Request& request) {
  Endpoint endpoint{owner, {own.ip_version, own.address}, own.protocol};
  if (has_ports(own)) {
    endpoint.port = own.port;
    endpoint.range = own.port_range;
  }
  if (own.protocol != kProtocolAny) endpoint.ports = request.ports;
  Need need{endpoint, request};
  if (request.ports == kAnyPortRange) need.request.parity = Parity::kAny;
  return need;
}

NatTable::Need NatTable::outside_need(const Rule& rule) {
  return make_need(rule.owner, rule.internal,
                   outside_request(rule.internal, rule.external, rule.parameters));
}

NatTable::Need NatTable::inside_need(const Rule& rule) {
  return make_need(rule.owner, rule.external,
                   inside_request(rule.internal, rule.external, rule.parameters));
}

template <class Act>
void NatTable::for_each_side(RuleSlot slot, const Rule& rule, Act act) {
  act(outside_, outside_need(rule), at(slot).outside);
  if (mode_ == Mode::kTwiceNat) act(inside_, inside_need(rule), at(slot).inside);
}

NatTable::Shared* NatTable::find_fitting(Sharing& sharing, const Need& need,
                                         const AddressPool& pool) {
  const auto fits = [&](const Shared& one) {
    return !one.planned && !check_binding(one.binding, need.request, pool.port_count());
  };
  const auto found = std::ranges::find_if(sharing, fits);
  return found == sharing.end() ? nullptr : &*found;
}

template <class AnySide>
auto NatTable::look_up(AnySide& side, const Need& need, const Binding& binding)
    -> decltype(&side.shared.begin()->second.front()) {
  const auto sharing = side.shared.find(need.endpoint);
  if (sharing == side.shared.end()) return nullptr;
  const auto found = std::ranges::find_if(sharing->second, [&](const Shared& one) {
    return one.binding.address == binding.address && one.binding.port == binding.port;
  });
  return found == sharing->second.end() ? nullptr : &*found;
}

NatTable::Shared& NatTable::find(Side& side, const Need& need, const Binding& binding) {
  Shared* const found = look_up(side, need, binding);
  SIMCO_ASSERT(found != nullptr);
  return *found;
}

void NatTable::forget(Side& side, const Need& need, const Shared& shared) {
  Sharing& sharing = side.shared.find(need.endpoint)->second;
  sharing.erase(sharing.begin() + (&shared - sharing.data()));
  if (sharing.empty()) side.shared.erase(need.endpoint);
}

std::uint64_t NatTable::age_of(const Side& side, const Need& need, const Binding& binding) {
  const Shared* const found = look_up(side, need, binding);
  return found == nullptr ? 0 : found->age;
}

rule::BindingAges NatTable::ages(RuleSlot slot, const Rule& rule) const {
  rule::BindingAges result{.outside = age_of(outside_, outside_need(rule), at(slot).outside)};
  if (mode_ == Mode::kTwiceNat) {
    result.inside = age_of(inside_, inside_need(rule), at(slot).inside);
  }
  return result;
}

std::expected<Binding, NegativeReplyCode> NatTable::bind(Side& side, const Need& need) {
  AddressPool& pool = side.pools.of(need.endpoint.address.version);
  const auto sharing = side.shared.find(need.endpoint);
  if (sharing != side.shared.end()) {
    Shared* const fitting = find_fitting(sharing->second, need, pool);
    if (fitting != nullptr) {
      ++fitting->rules;
      return fitting->binding;
    }
    // RFC 5189 2.3.9: an endpoint is not bound to two places because parity is asked for later.
    if (!std::ranges::all_of(sharing->second, &Shared::planned)) {
      return std::unexpected(NegativeReplyCode::kParityMismatch);
    }
  }
  const auto taken = pool.take(need.request);
  if (taken) side.shared[need.endpoint].push_back({*taken, ++last_age_});
  return taken;
}

void NatTable::unbind(Side& side, const Need& need, const Binding& binding) {
  Shared& shared = find(side, need, binding);
  if (--shared.rules != 0) return;
  side.pools.of(need.endpoint.address.version)
      .give_back(shared.binding, need.endpoint.protocol, need.request.host);
  forget(side, need, shared);
}

bool NatTable::bind_again(Side& side, const Rule& rule, const Need& need,
                          const std::optional<AddressTuple>& tuple, std::uint64_t age,
                          Binding& binding) {
  if (!tuple || tuple->ip_version != rule.internal.ip_version) return false;
  AddressPool& pool = side.pools.of(tuple->ip_version);
  const IpAddress address{tuple->ip_version, tuple->address};
  const bool enabled = rule.kind == RuleKind::kEnable;
  const auto sharing = enabled ? side.shared.find(need.endpoint) : side.shared.end();
  if (sharing != side.shared.end()) {
    for (Shared& one : sharing->second) {
      if (pool.address(one.binding.address) != address || one.binding.port != tuple->port) continue;
      ++one.rules;
      binding = one.binding;
      return true;
    }
  }
  const auto ports = tuple->port == 0 ? std::uint16_t{0} : tuple->port_range;
  if (!pool.reclaim(address, rule.internal.protocol, tuple->port, ports, binding)) return false;
  if (!enabled) return true;
  if (need.request.host) pool.pair(binding, *need.request.host);
  // The oldest first, in any order of their rules.
  Sharing& all = side.shared[need.endpoint];
  all.insert(std::ranges::upper_bound(all, age, {}, &Shared::age), {binding, age});
  last_age_ = std::max(last_age_, age);
  return true;
}

// --- Rules -------------------------------------------------------------------------------------

std::optional<NegativeReplyCode> NatTable::take(RuleSlot slot, const Reservation& wanted) {
  const AddressPool::Request request{wanted.protocol, wanted.ports, wanted.parity, {}};
  AddressPool& pool = outside_.pools.of(wanted.version);
  const auto outside = pool.take(request);
  if (!outside) return outside.error();
  Bindings bindings{*outside, {}};
  if (mode_ == Mode::kTwiceNat) {
    const auto inside = inside_.pools.of(wanted.version).take(request);
    if (!inside) {
      pool.give_back(*outside, wanted.protocol, {});
      return inside.error();
    }
    bindings.inside = *inside;
  }
  hold(slot, bindings);
  return std::nullopt;
}

std::optional<NegativeReplyCode> NatTable::take(RuleSlot slot, const Rule& rule) {
  const Need outside = outside_need(rule);
  const auto taken = bind(outside_, outside);
  if (!taken) return taken.error();
  Bindings bindings{*taken, {}};
  if (mode_ == Mode::kTwiceNat) {
    const auto taken_inside = bind(inside_, inside_need(rule));
    if (!taken_inside) {
      unbind(outside_, outside, *taken);
      return taken_inside.error();
    }
    bindings.inside = *taken_inside;
  }
  hold(slot, bindings);
  return std::nullopt;
}

bool NatTable::reclaim(RuleSlot slot, const Rule& rule, const std::optional<AddressTuple>& outside,
                       const std::optional<AddressTuple>& inside, const rule::BindingAges& ages) {
  Bindings bindings;
  const Need need = outside_need(rule);
  if (!bind_again(outside_, rule, need, outside, ages.outside, bindings.outside)) return false;
  if (mode_ == Mode::kTwiceNat &&
      !bind_again(inside_, rule, inside_need(rule), inside, ages.inside, bindings.inside)) {
    give_back_side(outside_, rule, need, bindings.outside);
    return false;
  }
  hold(slot, bindings);
  return true;
}

void NatTable::give_back_side(Side& side, const Rule& rule, const Need& need,
                              const Binding& binding) {
  if (rule.kind == RuleKind::kEnable) return unbind(side, need, binding);
  side.pools.of(rule.internal.ip_version).give_back(binding, rule.internal.protocol, {});
}

void NatTable::hold(RuleSlot slot, const Bindings& bindings) {
  at(slot) = bindings;
  ++holders_;
}

void NatTable::give_back(RuleSlot slot, const Rule& rule) {
  SIMCO_ASSERT(holders_ > 0);
  --holders_;
  for_each_side(slot, rule, [&](Side& side, const Need& need, const Binding& binding) {
    give_back_side(side, rule, need, binding);
  });
  at(slot) = {};
}

// --- Reservations that are enabled --------------------------------------------------------------

void NatTable::plan_adoption(RuleSlot slot, const Rule& rule) {
  for_each_side(slot, rule, [this](Side& side, const Need& need, const Binding& binding) {
    side.shared[need.endpoint].push_back({binding, ++last_age_, 1, true});
  });
}

// 8.4.3: the reserved binding is enabled, even if the endpoint has another.
void NatTable::adopt(RuleSlot slot, const Rule& rule) {
  for_each_side(slot, rule, [](Side& side, const Need& need, Binding& binding) {
    Shared& shared = find(side, need, binding);
    shared.planned = false;
    const auto& host = need.request.host;
    if (host) side.pools.of(host->version).pair(shared.binding, *host);
    binding = shared.binding;
  });
}

void NatTable::abandon(RuleSlot slot, const Rule& rule) {
  for_each_side(slot, rule, [](Side& side, const Need& need, const Binding& binding) {
    forget(side, need, find(side, need, binding));
  });
}

bool NatTable::awaits_adoption(const Side& side, const Need& need) {
  const auto sharing = side.shared.find(need.endpoint);
  return sharing != side.shared.end() && std::ranges::any_of(sharing->second, &Shared::planned);
}

bool NatTable::awaits_adoption(const Rule& rule) const {
  return awaits_adoption(outside_, outside_need(rule)) ||
         (mode_ == Mode::kTwiceNat && awaits_adoption(inside_, inside_need(rule)));
}

std::optional<NegativeReplyCode> NatTable::check_reserved(RuleSlot slot,
                                                          const AddressTuple& internal,
                                                          const AddressTuple& external,
                                                          PerParameterSet parameters) const {
  const Bindings& bindings = at(slot);
  const auto all = outside_.pools.of(internal.ip_version).port_count();
  const auto code =
      check_binding(bindings.outside, outside_request(internal, external, parameters), all);
  if (code || mode_ != Mode::kTwiceNat) return code;
  return check_binding(bindings.inside, inside_request(internal, external, parameters), all);
}

AddressTuple NatTable::outside(RuleSlot slot, const Rule& rule) const {
  const auto& pool = outside_.pools.of(rule.internal.ip_version);
  return tuple_of(pool, at(slot).outside, rule.internal.protocol, Location::kOutside);
}

AddressTuple NatTable::inside(RuleSlot slot, const Rule& rule) const {
  SIMCO_ASSERT(mode_ == Mode::kTwiceNat);
  const auto& pool = inside_.pools.of(rule.internal.ip_version);
  return tuple_of(pool, at(slot).inside, rule.internal.protocol, Location::kInside);
}

}  // namespace simco::policy
