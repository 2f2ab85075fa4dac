#include "tests/simulator/request_generator.hpp"

#include <iterator>

#include "tests/support/figures.hpp"

namespace simco::test {

Body RequestGenerator::request() {
  switch (below(12)) {
    case 0:
    case 1:
    case 2: return per();
    case 3:
    case 4: return prr();
    case 5:
    case 6: return pea();
    case 7: return below(3) == 0 ? pdr() : per();
    case 8:
    case 9: return plc();
    case 10: return PrsRequest{some_pid()};
    default: return PrlRequest{};
  }
}

// A firewall has an element for each port; a NAT has few ports, but an unusual prefix costs it
// more.
Body RequestGenerator::large() {
  PerRequest request;
  request.parameters.direction = Direction::kInbound;
  request.internal = ipv4(Location::kInternal, {10, 0, 0, static_cast<int>(below(4))}, 0, 1);
  request.external = ipv4(Location::kExternal, {192, 0, 0, 0}, 0, 1);
  const bool ports = !model_.translates();
  request.internal.port = request.external.port =
      static_cast<std::uint16_t>(10'000 + 1000 * below(20));
  if (ports) request.internal.port_range = request.external.port_range = 1000;
  if (!ports && !model_.is_twice_nat()) request.external.prefix_length = 27;
  request.lifetime = {1 + below(80)};
  return request;
}

Body RequestGenerator::against_large() {
  PdrRequest request;
  request.internal = ipv4(Location::kInternal, {10, 0, 0, static_cast<int>(below(4))}, 0, 1);
  request.external = ipv4(Location::kExternal, {192, 0, 0, 0}, 0, 1);
  request.external.prefix_length = 24;
  request.lifetime = {1 + below(20)};
  return request;
}

// --- Attributes ----------------------------------------------------------------------------------

AddressTuple RequestGenerator::tuple(Location location, std::uint8_t protocol) {
  if (below(14) == 0) return protocols_only(location, protocol);
  auto result = ipv4(location, {10, 0, 0, static_cast<int>(below(4))}, 0, 1, protocol);
  if (location == Location::kExternal) result.address[0] = std::byte{192};
  if (below(8) == 0) result.prefix_length = static_cast<std::uint8_t>(below(33));
  if (protocol != 1 && below(6) != 0) result.port = static_cast<std::uint16_t>(5000 + below(8));
  result.port_range = static_cast<std::uint16_t>(below(4) == 0 ? 1 + below(3) : 2);
  return result;
}

std::uint8_t RequestGenerator::protocol() {
  constexpr std::uint8_t kFrom[] = {17, 17, 17, 17, 6, 6, 0, 1};
  return kFrom[below(8)];
}

PerParameterSet RequestGenerator::parameters() {
  const auto parity = below(2) == 0 ? PortParity::kAny : PortParity::kSame;
  return {parity, static_cast<Direction>(1 + below(3))};
}

Lifetime RequestGenerator::lifetime() { return {below(15) == 0 ? 0 : 1 + below(80)}; }

PolicyRuleId RequestGenerator::some_pid() {
  if (model_.rules.empty() || below(8) == 0) return {below(500)};
  const auto count = static_cast<std::uint32_t>(model_.rules.size());
  return {std::next(model_.rules.begin(), below(count))->first};
}

std::optional<GroupId> RequestGenerator::some_group() {
  if (below(3) != 0) return std::nullopt;
  const auto rule = model_.rules.find(some_pid().value);
  return GroupId{rule == model_.rules.end() ? below(100) : rule->second.group};
}

// --- Requests ------------------------------------------------------------------------------------
// In statements of their own: the order in which arguments are evaluated is the compiler's.

Body RequestGenerator::per() {
  const auto number = protocol();
  PerRequest request;
  request.parameters = parameters();
  request.internal = tuple(Location::kInternal, number);
  request.external = tuple(Location::kExternal, number);
  request.lifetime = lifetime();
  request.group = some_group();
  return request;
}

Body RequestGenerator::prr() {
  PrrRequest request;
  const bool twice = model_.is_twice_nat();
  request.parameters.nat_mode = twice ? NatMode::kTwice : NatMode::kTraditional;
  if (below(8) == 0) {
    request.parameters.nat_mode = twice ? NatMode::kTraditional : NatMode::kTwice;
  }
  request.parameters.parity = static_cast<ReservedParity>(below(3));
  request.parameters.protocol = protocol();
  request.parameters.port_range = static_cast<std::uint16_t>(1 + below(3));
  if (below(12) == 0) request.parameters.port_range = 0xFFFF;
  if (below(12) == 0) request.parameters.port_range = 0;
  request.lifetime = lifetime();
  request.group = some_group();
  return request;
}

Body RequestGenerator::pea() {
  PeaRequest request;
  request.pid = some_pid();
  const auto found = model_.rules.find(request.pid.value);
  const bool as_held = found != model_.rules.end() && below(6) != 0;
  const auto number = as_held ? found->second.internal.protocol : protocol();
  request.parameters = parameters();
  request.internal = tuple(Location::kInternal, number);
  request.external = tuple(Location::kExternal, number);
  request.lifetime = lifetime();
  return request;
}

Body RequestGenerator::pdr() {
  const auto number = protocol();
  PdrRequest request;
  request.internal = tuple(Location::kInternal, number);
  request.external = tuple(Location::kExternal, number);
  request.lifetime = lifetime();
  return request;
}

Body RequestGenerator::plc() {
  PlcRequest request;
  request.pid = some_pid();
  request.lifetime = {below(3) == 0 ? 0 : below(80)};
  return request;
}

}  // namespace simco::test
