#include "simco/packet/rule_match.hpp"

namespace simco::packet {
namespace {

Ports ports_of(const AddressTuple& tuple) {
  return has_ports(tuple) ? Ports{tuple.port, tuple.port_range} : Ports{};
}

}  // namespace

Pairing pairing_of(const AddressTuple& internal, const AddressTuple& external) {
  Pairing result{ports_of(internal), ports_of(external)};
  // It fits every range of the other side, and so pairs its ports with all.
  if (result.external.count == kAnyPortRange && result.internal.count != kAnyPortRange) {
    result.external = {};
  }
  if (result.internal.count == kAnyPortRange && result.external.count != kAnyPortRange &&
      !result.external.any()) {
    result.internal = {};
  }
  return result;
}

std::optional<Agreement> compare(const AddressTuple& internal, const AddressTuple& external,
                                 const Packet& packet) {
  if (internal.ip_version != packet.internal.version) return std::nullopt;
  const auto [inner, outer] = pairing_of(internal, external);
  Agreement result;
  result.protocol = internal.protocol == kProtocolAny || internal.protocol == packet.protocol;
  result.internal_address = contains(prefix_of(internal), host_prefix(packet.internal));
  result.external_address = contains(prefix_of(external), host_prefix(packet.external));
  result.internal_port = inner.contain(packet.internal_port);
  result.external_port = outer.contain(packet.external_port);
  result.pairing = inner.any() || outer.any() ||
                   packet.internal_port - inner.first == packet.external_port - outer.first;
  return result;
}

}  // namespace simco::packet
