// Chooses an address, then ports of it: the host's paired address if any, otherwise the next
// address in turn with a sufficient free run. A tree of maxima finds it without scanning the pool.
#include "middlebox/policy/address_pool.hpp"

#include <numeric>

#include "simco/wire/assert.hpp"

namespace simco::policy {
namespace {

std::uint32_t count_addresses(const std::vector<AddressRange>& ranges) {
  return std::accumulate(ranges.begin(), ranges.end(), std::uint32_t{0},
                         [](std::uint32_t sum, const auto& range) { return sum + range.count; });
}

/// The last eight octets of an address as a number: no pool is larger than that.
std::uint64_t low_octets(const IpAddress& address) {
  const std::size_t size = address_bits(address.version) / 8U;
  std::uint64_t number = 0;
  for (std::size_t i = size > 8 ? size - 8 : 0; i < size; ++i) {
    number = number << 8 | std::to_integer<std::uint64_t>(address.octets[i]);
  }
  return number;
}

constexpr std::array kParities = {Parity::kEven, Parity::kOdd, Parity::kAny};

}  // namespace

IpAddress advance(const IpAddress& address, std::uint32_t offset) {
  IpAddress result = address;
  std::uint64_t carry = offset;
  for (std::size_t i = address_bits(address.version) / 8U; i > 0 && carry != 0; --i) {
    carry += std::to_integer<std::uint64_t>(result.octets[i - 1]);
    result.octets[i - 1] = static_cast<std::byte>(carry & 0xFF);
    carry >>= 8;
  }
  return result;
}

AddressPool::Protocol::Protocol(std::uint32_t addresses, const PortMap& free)
    : maps(addresses),
      longest{MaxTree(addresses, free.longest(Parity::kEven)),
              MaxTree(addresses, free.longest(Parity::kOdd)),
              MaxTree(addresses, free.longest(Parity::kAny))} {}

AddressPool::AddressPool(const Options& options)
    : options_(options),
      addresses_(count_addresses(options.ranges)),
      free_(addresses_ == 0 ? nullptr
                            : std::make_unique<PortMap>(options.first_port, options.last_port)),
      held_(addresses_),
      whole_(addresses_),
      unused_(addresses_, 1) {}

IpAddress AddressPool::address(std::uint32_t index) const {
  for (const auto& range : options_.ranges) {
    if (index < range.count) return advance(range.first, index);
    index -= range.count;
  }
  SIMCO_ASSERT(false);
}

// --- Taking ------------------------------------------------------------------------------------

std::expected<Binding, NegativeReplyCode> AddressPool::take(const Request& request) {
  if (empty()) return std::unexpected(NegativeReplyCode::kLackOfAddresses);
  if (request.protocol == kProtocolAny) return take_address();
  const bool all = request.ports == kAnyPortRange;
  const auto ports = all ? free_->longest(Parity::kAny) : request.ports;
  const auto parity = all ? Parity::kAny : request.parity;
  Protocol& of = protocol(request.protocol);
  const auto address = choose(of, ports, {request.protocol, request.ports, parity, request.host});
  if (!address) return std::unexpected(address.error());
  auto& map = of.maps[*address];
  if (!map) map = std::make_unique<PortMap>(*free_);
  const auto port = map->take(ports, parity);
  SIMCO_ASSERT(port);
  refresh(of, *address);
  hold(*address);
  ports_in_use_ += ports;
  Binding binding{*address, *port, ports};
  if (request.host) pair(binding, *request.host);
  return binding;
}

std::expected<std::uint32_t, NegativeReplyCode> AddressPool::choose(const Protocol& of,
                                                                    std::uint16_t ports,
                                                                    const Request& request) {
  const bool all = request.ports == kAnyPortRange;
  if (free_->longest(request.parity) < ports) {
    const bool odd_one_out = free_->longest(Parity::kAny) >= ports;
    return std::unexpected(odd_one_out ? NegativeReplyCode::kParityMismatch
                                       : NegativeReplyCode::kLackOfPorts);
  }
  const MaxTree& longest = of.longest[static_cast<std::size_t>(request.parity)];
  if (const auto paired = paired_address(request.host)) {
    if (longest[*paired] >= ports) return *paired;
    return std::unexpected(NegativeReplyCode::kLackOfPorts);
  }
  if (const auto found = longest.find(next_address_, ports)) {
    next_address_ = (*found + 1) % addresses_;
    return *found;
  }
  return std::unexpected(all || wholes_ == addresses_ ? NegativeReplyCode::kLackOfAddresses
                                                      : NegativeReplyCode::kLackOfPorts);
}

// Whole addresses stay out of the pairing: an address that is taken whole has no ports to share.
std::expected<Binding, NegativeReplyCode> AddressPool::take_address() {
  const auto address = unused_.find(next_address_, 1);
  if (!address) return std::unexpected(NegativeReplyCode::kLackOfAddresses);
  next_address_ = (*address + 1) % addresses_;
  return hold_whole(*address);
}

Binding AddressPool::hold_whole(std::uint32_t address) {
  whole_[address] = true;
  ++wholes_;
  for (auto& [number, of] : protocols_) refresh(of, address);
  hold(address);
  return Binding{address, 0, 0};
}

std::optional<std::uint32_t> AddressPool::find_address(const IpAddress& address) const {
  std::uint32_t before = 0;
  for (const auto& range : options_.ranges) {
    const bool same_version = range.first.version == address.version;
    const auto offset = low_octets(address) - low_octets(range.first);
    if (same_version && offset < range.count &&
        advance(range.first, static_cast<std::uint32_t>(offset)) == address) {
      return before + static_cast<std::uint32_t>(offset);
    }
    before += range.count;
  }
  return std::nullopt;
}

bool AddressPool::reclaim(const IpAddress& address, std::uint8_t protocol_number,
                          std::uint16_t port, std::uint16_t ports, Binding& binding) {
  const auto index = find_address(address);
  if (!index || whole_[*index]) return false;
  if (ports == 0) {
    if (held_[*index] != 0) return false;
    binding = hold_whole(*index);
    return true;
  }
  Protocol& of = protocol(protocol_number);
  auto& map = of.maps[*index];
  if (!map) map = std::make_unique<PortMap>(*free_);
  if (!map->take_at(port, ports)) return false;
  ports_in_use_ += ports;
  refresh(of, *index);
  hold(*index);
  binding = Binding{*index, port, ports};
  return true;
}

// --- Giving back -------------------------------------------------------------------------------

void AddressPool::give_back(const Binding& binding, std::uint8_t protocol_number,
                            const std::optional<IpAddress>& host) {
  if (binding.paired) {
    const auto pairing = pairings_.find(*host);
    SIMCO_ASSERT(pairing != pairings_.end());
    if (--pairing->second.bindings == 0) pairings_.erase(pairing);
  }
  release(binding.address);
  if (binding.ports == 0) {
    whole_[binding.address] = false;
    --wholes_;
    for (auto& [number, of] : protocols_) refresh(of, binding.address);
    return;
  }
  ports_in_use_ -= binding.ports;
  Protocol& of = protocol(protocol_number);
  of.maps[binding.address]->give_back(binding.port, binding.ports);
  refresh(of, binding.address);
}

// --- Pairing -----------------------------------------------------------------------------------

std::optional<std::uint32_t> AddressPool::paired_address(
    const std::optional<IpAddress>& host) const {
  if (!options_.paired || !host) return std::nullopt;
  const auto pairing = pairings_.find(*host);
  return pairing == pairings_.end() ? std::nullopt : std::optional(pairing->second.address);
}

void AddressPool::pair(Binding& binding, const IpAddress& host) {
  if (!options_.paired || binding.paired || binding.ports == 0) return;
  const auto [pairing, is_new] = pairings_.try_emplace(host, Pairing{binding.address, 0});
  if (pairing->second.address != binding.address) return;
  ++pairing->second.bindings;
  binding.paired = true;
}

// --- Bookkeeping -------------------------------------------------------------------------------

AddressPool::Protocol& AddressPool::protocol(std::uint8_t number) {
  const auto found = protocols_.find(number);
  if (found != protocols_.end()) return found->second;
  Protocol& made = protocols_.try_emplace(number, addresses_, *free_).first->second;
  for (std::uint32_t address = 0; address < addresses_; ++address) {
    if (whole_[address]) refresh(made, address);
  }
  return made;
}

void AddressPool::refresh(Protocol& of, std::uint32_t address) {
  const PortMap& map = of.maps[address] ? *of.maps[address] : *free_;
  for (const auto parity : kParities) {
    of.longest[static_cast<std::size_t>(parity)].set(
        address, whole_[address] ? std::uint16_t{0} : map.longest(parity));
  }
}

void AddressPool::hold(std::uint32_t address) {
  if (held_[address]++ != 0) return;
  unused_.set(address, 0);
  ++addresses_in_use_;
}

void AddressPool::release(std::uint32_t address) {
  SIMCO_ASSERT(held_[address] > 0);
  if (--held_[address] != 0) return;
  unused_.set(address, 1);
  --addresses_in_use_;
}

}  // namespace simco::policy
