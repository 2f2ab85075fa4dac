// What the options say of guards, and what this machine's sockets do.
#include "middlebox/backend/nftables/guard.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "middlebox/backend/nftables/limits.hpp"
#include "simco/wire/ip.hpp"

namespace simco::backend::nftables {
namespace {

bool covers(const std::vector<Guard>& guards, std::uint8_t protocol, std::uint16_t port) {
  return std::ranges::any_of(guards, [&](const Guard& guard) {
    return guard.protocol == protocol && port >= guard.ports.first && port <= guard.ports.last;
  });
}

/// An end of a connection as /proc/net/tcp has it: an address as the processor's 32-bit numbers.
struct End {
  boost::asio::ip::address address;
  std::uint16_t port = 0;
};

template <class Address>
boost::asio::ip::address address_of(std::string_view digits) {
  typename Address::bytes_type octets{};
  for (std::size_t at = 0; at < octets.size(); at += 4) {
    const auto word =
        static_cast<std::uint32_t>(std::stoul(std::string(digits.substr(2 * at, 8)), nullptr, 16));
    std::memcpy(octets.data() + at, &word, sizeof word);
  }
  return Address(octets);
}

IpAddress ip_address(const boost::asio::ip::address& address) {
  return parse_address(address.to_string()).value_or(IpAddress());
}

std::optional<End> parse_end(const std::string& text) {
  using namespace boost::asio::ip;
  const auto colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  const std::string_view digits(text.data(), colon);
  const auto port = static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1), nullptr, 16));
  if (colon == 8) return End{address_of<address_v4>(digits), port};
  const auto address = address_of<address_v6>(digits).to_v6();
  if (!address.is_v4_mapped()) return End{address, port};
  return End{make_address_v4(v4_mapped, address), port};
}

}  // namespace

std::expected<std::vector<Guard>, std::string> parse_guards(const std::vector<std::string>& words) {
  std::vector<Guard> guards;
  for (const auto& word : words) {
    const auto guard = parse_protocol_ports(word);
    if (!guard) return std::unexpected(guard.error());
    guards.push_back(*guard);
  }
  if (guards.size() > kGuardsMax) {
    return std::unexpected(
        fmt::format("expected at most {} ranges of ports, got {}", kGuardsMax, guards.size()));
  }
  return guards;
}

std::string guard_text(const std::vector<Guard>& guards, std::size_t octets) {
  std::string text;
  for (const auto& [protocol, ports] : guards) {
    auto one =
        fmt::format("{}{}:{}", text.empty() ? "" : ",", protocol_name(protocol), ports.first);
    if (ports.last != ports.first) one += fmt::format("-{}", ports.last);
    if (text.size() + one.size() > octets) break;
    text += one;
  }
  return text;
}

std::optional<std::string> connection_at(
    const std::vector<Guard>& guards, const std::string& in_force,
    const std::vector<boost::asio::ip::address>& administrators, const LetsPass& lets_pass) {
  std::vector<Guard> old;
  std::istringstream words(in_force);
  for (std::string word; std::getline(words, word, ',');) {
    if (const auto guard = parse_protocol_ports(word)) old.push_back(*guard);
  }
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line);
      std::string number, local_text, remote_text, state;
      fields >> number >> local_text >> remote_text >> state;
      const auto local = parse_end(local_text);
      const auto remote = parse_end(remote_text);
      if (!local || !remote || state != "01") continue;  // TCP_ESTABLISHED
      if (std::ranges::find(administrators, remote->address) == administrators.end()) continue;
      if (!covers(guards, kProtocolTcp, local->port) || covers(old, kProtocolTcp, local->port))
        continue;
      if (lets_pass({kProtocolTcp, ip_address(local->address), local->port,
                     ip_address(remote->address), remote->port}))
        continue;
      return fmt::format("the open connection from {} port {} to port {}",
                         remote->address.to_string(), remote->port, local->port);
    }
  }
  return std::nullopt;
}

std::optional<std::string> ephemeral_ports_in(const std::vector<Guard>& guards) {
  PortRange ephemeral;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> ephemeral.first >> ephemeral.last;
  std::vector<PortRange> reserved;
  std::string wanted;  // by the machine, and then by us
  std::ifstream("/proc/sys/net/ipv4/ip_local_reserved_ports") >> wanted;
  std::istringstream words(wanted);
  for (std::string word; std::getline(words, word, ',');) {
    if (const auto ports = parse_port_range(word)) reserved.push_back(*ports);
  }
  bool missing = false;
  for (const auto& [protocol, guarded] : guards) {
    if (guarded.last < ephemeral.first || guarded.first > ephemeral.last) continue;
    const bool kept = std::ranges::any_of(reserved, [&](const PortRange& ports) {
      return ports.first <= std::max(guarded.first, ephemeral.first) &&
             ports.last >= std::min(guarded.last, ephemeral.last);
    });
    if (kept) continue;
    missing = true;
    wanted += fmt::format("{}{}-{}", wanted.empty() ? "" : ",", guarded.first, guarded.last);
  }
  if (!missing) return std::nullopt;
  return fmt::format(
      "--guard: the kernel may give a client of this machine, as for DNS, a guarded port, and "
      "replies would be dropped: sysctl net.ipv4.ip_local_reserved_ports={}",
      wanted);
}

}  // namespace simco::backend::nftables
