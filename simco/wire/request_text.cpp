// Requests for policy rules, made of endpoints as text (messages.hpp).
#include <limits>
#include <stdexcept>
#include <string>

#include "simco/wire/messages.hpp"
#include "simco/wire/tuple_text.hpp"

namespace simco {
namespace {

Endpoint endpoint_of(const std::string& side, std::string_view text) {
  if (const auto endpoint = parse_endpoint(text)) return *endpoint;
  throw std::invalid_argument(side + " '" + std::string(text) +
                              "': expected ADDRESS, ADDRESS:PORT, ADDRESS:PORT/COUNT or any; an "
                              "IPv6 address with a port needs brackets");
}

Lifetime lifetime_of(std::chrono::seconds time) {
  if (time.count() < 1 || time.count() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("lifetime of " + std::to_string(time.count()) +
                                " s: expected 1 to 4294967295 s");
  }
  return {static_cast<std::uint32_t>(time.count())};
}

/// Sets the two sides of a rule.
void set_tuples(std::uint8_t protocol, std::string_view internal_text,
                std::string_view external_text, AddressTuple& internal, AddressTuple& external) {
  const auto inner = endpoint_of("internal", internal_text);
  const auto outer = endpoint_of("external", external_text);
  if (protocol == kProtocolAny && (inner.port != 0 || outer.port != 0)) {
    throw std::invalid_argument("ports require a protocol: use udp(), tcp() or of(protocol, ...)");
  }
  const auto version = inner.prefix   ? inner.prefix->address.version
                       : outer.prefix ? outer.prefix->address.version
                                      : IpVersion::kIpv4;
  internal = inner.tuple(version, protocol, Location::kInternal);
  external = outer.tuple(version, protocol, Location::kExternal);
  if (port_ranges_differ(internal, external)) {
    throw std::invalid_argument("internal has " + std::to_string(internal.port_range) +
                                " ports, external " + std::to_string(external.port_range) +
                                ": they are paired, so name as many on both sides");
  }
}

/// A PER or PEA request.
template <class Request>
Request enable_request(std::uint8_t protocol, std::string_view internal, std::string_view external,
                       std::chrono::seconds lifetime) {
  Request request;
  set_tuples(protocol, internal, external, request.internal, request.external);
  request.parameters.direction = usual_direction(request.internal, request.external);
  request.lifetime = lifetime_of(lifetime);
  return request;
}

}  // namespace

PrrRequest PrrRequest::of(std::uint8_t protocol, std::uint16_t ports, std::chrono::seconds lifetime,
                          ReservedParity parity) {
  if (ports == 0) throw std::invalid_argument("0 ports: reserve at least one");
  PrrRequest request;
  request.parameters = {.nat_mode = NatMode::kTraditional,
                        .parity = parity,
                        .inside_version = RequestedIpVersion::kIpv4,
                        .outside_version = RequestedIpVersion::kIpv4,
                        .protocol = protocol,
                        .port_range = ports};
  request.lifetime = lifetime_of(lifetime);
  return request;
}

PerRequest PerRequest::of(std::uint8_t protocol, std::string_view internal,
                          std::string_view external, std::chrono::seconds lifetime) {
  return enable_request<PerRequest>(protocol, internal, external, lifetime);
}

PeaRequest PeaRequest::of(std::uint8_t protocol, PolicyRuleId reservation,
                          std::string_view internal, std::string_view external,
                          std::chrono::seconds lifetime) {
  auto request = enable_request<PeaRequest>(protocol, internal, external, lifetime);
  request.pid = reservation;
  return request;
}

PdrRequest PdrRequest::of(std::uint8_t protocol, std::string_view internal,
                          std::string_view external, std::chrono::seconds lifetime) {
  PdrRequest request;
  set_tuples(protocol, internal, external, request.internal, request.external);
  request.lifetime = lifetime_of(lifetime);
  return request;
}

}  // namespace simco
