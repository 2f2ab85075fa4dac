// IP addresses and prefixes: text, containment, and endpoints that lack brackets.
#include "simco/wire/ip.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include "simco/wire/number.hpp"

namespace simco {
namespace {

int family(IpVersion version) { return version == IpVersion::kIpv4 ? AF_INET : AF_INET6; }

}  // namespace

IpAddress masked(const IpAddress& address, unsigned length) {
  IpAddress result = address;
  for (unsigned i = 0; i < result.octets.size(); ++i) {
    const unsigned kept = length > 8 * i ? std::min(length - 8 * i, 8U) : 0;
    result.octets[i] &= static_cast<std::byte>(0xFF00U >> kept);
  }
  return result;
}

IpPrefix host_prefix(const IpAddress& address) { return {address, address_bits(address.version)}; }

bool contains(const IpPrefix& outer, const IpPrefix& inner) {
  return outer.address.version == inner.address.version && outer.length <= inner.length &&
         masked(inner.address, outer.length) == outer.address;
}

IpPrefix prefix_of(const AddressTuple& tuple) {
  const auto length = prefix_length(tuple);
  return {masked({tuple.ip_version, tuple.address}, length), length};
}

std::optional<IpAddress> parse_address(std::string_view text) {
  const std::string terminated(text);
  IpAddress result;
  result.version = text.contains(':') ? IpVersion::kIpv6 : IpVersion::kIpv4;
  if (::inet_pton(family(result.version), terminated.c_str(), result.octets.data()) != 1) {
    return std::nullopt;
  }
  return result;
}

std::optional<IpPrefix> parse_prefix(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  IpPrefix result = host_prefix(*address);
  if (slash == std::string_view::npos) return result;
  const auto length = parse_number<std::uint8_t>(text.substr(slash + 1), 0, result.length);
  if (!length || masked(*address, *length) != *address) return std::nullopt;
  result.length = *length;
  return result;
}

std::optional<std::string> missing_brackets(std::string_view text) {
  const auto whole = text.substr(0, text.find('/'));
  const auto rest = std::string(text.substr(whole.size()));
  const auto colon = whole.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string address(whole.substr(0, colon));
  const std::string port(whole.substr(colon + 1));
  const bool is_port = parse_number<std::uint16_t>(port, 1).has_value();
  const auto before = parse_address(address);
  if (!is_port || !before || before->version != IpVersion::kIpv6) return std::nullopt;
  const auto with_port = "[" + address + "]:" + port + rest;
  if (!parse_address(whole)) {
    return "'" + std::string(text) + "': an IPv6 address with a port needs brackets: " + with_port;
  }
  return "'" + std::string(text) + "' is ambiguous: write [" + std::string(text) +
         "] for the address, or " + with_port + " for port " + port + " of " + address;
}

std::string to_string(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(family(address.version), address.octets.data(), text, sizeof text);
}

std::string to_string(const IpPrefix& prefix) {
  const auto address = to_string(prefix.address);
  if (prefix.length == address_bits(prefix.address.version)) return address;
  return address + "/" + std::to_string(prefix.length);
}

}  // namespace simco
