// Parses and prints endpoints, and knows the names of protocols.
#include "simco/wire/tuple_text.hpp"

#include <array>
#include <charconv>
#include <utility>

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

template <class Int>
bool parse_number(std::string_view text, Int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// Reads ":PORT" or ":PORT/RANGE", or nothing at all.
bool parse_ports(std::string_view text, Endpoint& endpoint) {
  if (text.empty()) return true;
  if (!text.starts_with(':')) return false;
  text.remove_prefix(1);
  const auto slash = text.find('/');
  if (!parse_number(text.substr(0, slash), endpoint.port) || endpoint.port == 0) return false;
  if (slash == std::string_view::npos) return true;
  return parse_number(text.substr(slash + 1), endpoint.port_range) && endpoint.port_range != 0 &&
         unsigned{endpoint.port} + endpoint.port_range - 1 <= 65535;
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

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  Endpoint endpoint;
  const auto end = end_of_address(text);
  auto address = text.substr(0, end);
  auto rest = end == std::string_view::npos ? std::string_view{} : text.substr(end);
  if (text.starts_with('[')) {
    if (end == std::string_view::npos) return std::nullopt;
    address.remove_prefix(1);
    rest.remove_prefix(1);
  }
  if (address != "any") {
    endpoint.prefix = parse_prefix(address);
    if (!endpoint.prefix) return std::nullopt;
  }
  if (!parse_ports(rest, endpoint)) return std::nullopt;
  return endpoint;
}

std::optional<std::uint8_t> parse_protocol(std::string_view text) {
  for (const auto& [name, number] : kProtocols) {
    if (text == name) return number;
  }
  std::uint8_t number = 0;
  if (!parse_number(text, number) || number == 0) return std::nullopt;
  return number;
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
    if (ports && tuple.ip_version == IpVersion::kIpv6) text = "[" + text + "]";
  }
  if (!ports) return text;
  text += ":" + std::to_string(tuple.port);
  if (tuple.port_range != 1) text += "/" + std::to_string(tuple.port_range);
  return text;
}

}  // namespace simco
