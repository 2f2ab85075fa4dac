#include "middlebox/policy/traffic.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "middlebox/policy/checks.hpp"
#include "middlebox/policy/limits.hpp"

namespace simco::policy {
namespace {

std::uint64_t load(const std::byte* octets) {
  std::uint64_t value = 0;
  std::memcpy(&value, octets, sizeof value);
  return std::endian::native == std::endian::little ? std::byteswap(value) : value;
}

Side side_of(const AddressTuple& tuple) {
  Side side;
  if (tuple.form == AddressForm::kFullAddress) {
    const auto number = to_number({tuple.ip_version, tuple.address});
    side.length = std::min(tuple.prefix_length, address_bits(tuple.ip_version));
    side.base = lowest_of(number, side.length);
  }
  if (has_ports(tuple)) {
    side.first_port = tuple.port;
    side.last_port = static_cast<std::uint16_t>(tuple.port + tuple.port_range - 1);
  }
  return side;
}

bool overlap(const Side& a, const Side& b) {
  const auto length = std::min(a.length, b.length);
  return a.first_port <= b.last_port && b.first_port <= a.last_port &&
         lowest_of(a.base, length) == lowest_of(b.base, length);
}

bool is_everything(const Side& side) {
  return side.length == 0 && side.first_port == 0 && side.last_port == 65535;
}

}  // namespace

Address128 to_number(const IpAddress& address) {
  const Address128 number{load(address.octets.data()), load(address.octets.data() + 8)};
  if (address.version == IpVersion::kIpv6) return number;
  return lowest_of(number, 32);
}

Traffic traffic_of(const AddressTuple& internal, const AddressTuple& external) {
  return {internal.ip_version, internal.protocol, side_of(internal), side_of(external)};
}

bool overlap(const Traffic& a, const Traffic& b) {
  const bool protocols =
      a.protocol == b.protocol || a.protocol == kProtocolAny || b.protocol == kProtocolAny;
  return protocols && a.version == b.version && overlap(a.internal, b.internal) &&
         overlap(a.external, b.external);
}

bool is_everything(const Traffic& traffic) {
  return is_everything(traffic.internal) && is_everything(traffic.external);
}

std::uint16_t elements_of(const AddressTuple& internal, const AddressTuple& external,
                          unsigned translations) {
  std::uint32_t ports = 1;
  for (const auto* tuple : {&internal, &external}) {
    if (has_ports(*tuple) && tuple->port_range <= kPortsCountedMax) {
      ports = std::max<std::uint32_t>(ports, tuple->port_range);
    }
  }
  return static_cast<std::uint16_t>(ports * (1 + 2 * translations));
}

bool is_common(const AddressTuple& internal, const AddressTuple& external) {
  const auto is_host = [](const AddressTuple& tuple) {
    return prefix_length(tuple) == address_bits(tuple.ip_version) && has_ports(tuple) &&
           tuple.port_range <= kPortsCountedMax;
  };
  const bool is_anybody = prefix_length(external) == 0 && !has_ports(external);
  return internal.protocol != kProtocolAny && is_host(internal) &&
         (is_anybody || is_host(external));
}

}  // namespace simco::policy
