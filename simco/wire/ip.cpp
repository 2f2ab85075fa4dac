// IP addresses and prefixes: text, containment, and endpoints that lack brackets.
#include "simco/wire/ip.hpp"

#include <arpa/inet.h>
#include <endian.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "simco/wire/number.hpp"

namespace simco {
namespace {

int family(IpVersion version) { return version == IpVersion::kIpv4 ? AF_INET : AF_INET6; }

}  // namespace

IpAddress masked(const IpAddress& address, unsigned length) {
  static constexpr unsigned kWordBits = 64;
  // The first `bits` bits of a word in network order.
  const auto leading = [](unsigned bits) {
    return bits == 0 ? 0 : htobe64(~std::uint64_t{0} << (kWordBits - std::min(bits, kWordBits)));
  };
  auto words = std::bit_cast<std::array<std::uint64_t, 2>>(address.octets);
  words[0] &= leading(length);
  words[1] &= leading(length > kWordBits ? length - kWordBits : 0);
  return {address.version, std::bit_cast<decltype(address.octets)>(words)};
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
