// Parses and prints endpoints, and knows the names of protocols.
#include "simco/wire/tuple_text.hpp"

#include <array>
#include <utility>

#include "simco/wire/number.hpp"

namespace simco {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint8_t>, 10> kProtocols = {{
    {"icmp", 1},
    {"tcp", kProtocolTcp},
    {"udp", kProtocolUdp},
    {"dccp", kProtocolDccp},
    {"gre", 47},
    {"esp", 50},
    {"ah", 51},
    {"icmpv6", 58},
    {"sctp", kProtocolSctp},
    {"udplite", kProtocolUdpLite},
}};

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// A complaint, or nothing.
using Fault = std::optional<std::string>;

Fault bad_port(std::string_view text) {
  const auto dash = text.find('-');
  const bool range = dash != std::string_view::npos;
  const auto first = range ? parse_number<std::uint16_t>(text.substr(0, dash)) : std::nullopt;
  const auto last = first ? parse_number(text.substr(dash + 1), *first) : std::nullopt;
  if (last) {
    return quoted(text) + " is not a port: write consecutive ports as " + std::to_string(*first) +
           "/" + std::to_string(*last - *first + 1);
  }
  return quoted(text) + " is not a port from 1 to 65535";
}

/// Reads ":PORT" or ":PORT/RANGE", or nothing at all.
Fault parse_ports(std::string_view text, Endpoint& endpoint) {
  if (text.empty()) return std::nullopt;
  if (!text.starts_with(':')) return "only ':PORT' may follow the address, not " + quoted(text);
  text.remove_prefix(1);
  const auto slash = text.find('/');
  const auto port = text.substr(0, slash);
  const auto number = parse_number<std::uint16_t>(port, 1);
  if (!number) return bad_port(port);
  endpoint.port = *number;
  if (slash == std::string_view::npos) return std::nullopt;
  const auto range = text.substr(slash + 1);
  const unsigned most = 65536U - endpoint.port;
  const auto count = parse_number<std::uint16_t>(range, 1);
  if (!count || *count > most) {
    return quoted(range) + " is not a number of ports from " + std::string(port) +
           " on: there are " + std::to_string(most);
  }
  endpoint.port_range = *count;
  return std::nullopt;
}

/// Why an address with or without a prefix length is not a prefix.
std::string bad_prefix(std::string_view text) {
  if (text.empty()) return "the address is missing";
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) {
    return quoted(text.substr(0, slash)) + " is not an IP address (names are not looked up)";
  }
  const unsigned bits = address_bits(address->version);
  const auto digits = text.substr(slash + 1);
  const auto length = parse_number<std::uint8_t>(digits);
  if (!length || *length > bits) {
    return quoted(digits) + " is not a prefix length from 0 to " + std::to_string(bits);
  }
  return quoted(text) + " has bits set beyond /" + std::to_string(*length) + ": the prefix is " +
         to_string(IpPrefix{masked(*address, *length), *length});
}

/// Where the address ends and the ports begin.
std::size_t end_of_address(std::string_view text) {
  if (text.starts_with('[')) return text.find(']');
  const auto colon = text.find(':');
  // More than one colon is an IPv6 address without ports.
  return colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos
             ? std::string_view::npos
             : colon;
}

}  // namespace

AddressTuple Endpoint::tuple(IpVersion version, std::uint8_t protocol, Location location) const {
  AddressTuple result;
  result.protocol = protocol;
  result.location = location;
  result.ip_version = prefix ? prefix->address.version : version;
  result.prefix_length = prefix ? prefix->length : std::uint8_t{0};
  if (!prefix && port == 0) {
    result.form = AddressForm::kProtocolsOnly;
    return result;
  }
  if (prefix) result.address = prefix->address.octets;
  result.port = port;
  result.port_range = port_range;
  return result;
}

std::expected<Endpoint, std::string> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  const auto end = end_of_address(text);
  auto address = text.substr(0, end);
  auto rest = end == std::string_view::npos ? std::string_view{} : text.substr(end);
  if (text.starts_with('[')) {
    if (end == std::string_view::npos) return std::unexpected(quoted(text) + " has no ']'");
    address.remove_prefix(1);
    rest.remove_prefix(1);
  } else if (auto fault = missing_brackets(text)) {
    return std::unexpected(std::move(*fault));
  }
  if (address != "any") {
    endpoint.prefix = parse_prefix(address);
    if (!endpoint.prefix) return std::unexpected(bad_prefix(address));
  }
  if (auto fault = parse_ports(rest, endpoint)) return std::unexpected(std::move(*fault));
  return endpoint;
}

std::optional<std::uint8_t> parse_protocol(std::string_view text) {
  for (const auto& [name, number] : kProtocols) {
    if (text == name) return number;
  }
  return parse_number<std::uint8_t>(text, 1);
}

std::optional<PortRange> parse_port_range(std::string_view text, std::uint16_t least) {
  const auto dash = text.find('-');
  const auto first = parse_number<std::uint16_t>(text.substr(0, dash), least);
  auto last = first;
  if (first && dash != std::string_view::npos) last = parse_number(text.substr(dash + 1), *first);
  if (!last) return std::nullopt;
  return PortRange{*first, *last};
}

std::expected<ProtocolPorts, std::string> parse_protocol_ports(std::string_view text) {
  const auto colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto protocol = parse_protocol(text.substr(0, colon));
    const auto ports = parse_port_range(text.substr(colon + 1), 1);
    if (ports && protocol && protocol_has_ports(*protocol)) return ProtocolPorts{*protocol, *ports};
  }
  return std::unexpected(
      "expected PROTOCOL:PORT or PROTOCOL:LOW-HIGH with tcp, udp, sctp, dccp or udplite, got '" +
      std::string(text) + "'");
}

std::string protocol_name(std::uint8_t protocol) {
  if (protocol == kProtocolAny) return "any";
  for (const auto& [name, number] : kProtocols) {
    if (protocol == number) return std::string(name);
  }
  return std::to_string(protocol);
}

std::string to_text(const AddressTuple& tuple) {
  const bool full = tuple.form == AddressForm::kFullAddress;
  const bool ports = full && tuple.protocol != kProtocolAny && tuple.port != 0;
  std::string text = "any";
  if (full && tuple.prefix_length != 0) {
    text = to_string(prefix_of(tuple));
    const bool v6 = tuple.ip_version == IpVersion::kIpv6;
    if (v6 && (ports || missing_brackets(text))) text = "[" + text + "]";
  }
  if (!ports) return text;
  text += ":" + std::to_string(tuple.port);
  if (tuple.port_range != 1) text += "/" + std::to_string(tuple.port_range);
  return text;
}

}  // namespace simco
