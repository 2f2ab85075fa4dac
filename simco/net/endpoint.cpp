#include "simco/net/endpoint.hpp"

#include <algorithm>

#include "simco/wire/ip.hpp"
#include "simco/wire/number.hpp"

namespace simco::net {

std::expected<HostPort, std::string> parse_host_port(std::string_view text,
                                                     std::uint16_t default_port) {
  const auto bad = [&](const char* why) {
    return std::unexpected("expected HOST[:PORT], got '" + std::string(text) + "': " + why);
  };
  if (const auto comma = text.rfind(','); comma != std::string_view::npos) {
    const auto first = parse_host_port(text.substr(0, comma), 0);
    auto last = parse_host_port(text.substr(comma + 1), default_port);
    if (!first) return first;
    if (!last) return last;
    if (first->port != 0) return bad("give the port once, after the last host");
    HostPort result{first->host, last->port};
    result.further_hosts = first->further_hosts;
    result.further_hosts.push_back(last->host);
    return result;
  }
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) return bad("missing ']'");
    host = text.substr(1, end - 1);
    const auto rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return bad("only ':PORT' may follow ']'");
    has_port = !rest.empty();
    if (has_port) port = rest.substr(1);
  } else if (std::ranges::count(text, ':') == 1) {
    const auto colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  if (const auto fault = missing_brackets(host); fault && host.data() == text.data()) {
    return std::unexpected(*fault);
  }
  if (host.empty()) return bad("the host is missing");
  HostPort result{std::string(host), default_port};
  if (!has_port) return result;
  const auto number = parse_number<std::uint16_t>(port, 1);
  if (!number) return bad("the port must be a number from 1 to 65535");
  result.port = *number;
  return result;
}

std::expected<HostPort, std::string> parse_address_port(std::string_view text,
                                                        std::uint16_t default_port) {
  auto result = parse_host_port(text, default_port);
  boost::system::error_code error;
  if (result) boost::asio::ip::make_address(result->host, error);
  const bool good = result && !error && result->port != 0 && result->further_hosts.empty();
  if (!good) return std::unexpected("expected ADDRESS:PORT, got '" + std::string(text) + "'");
  return result;
}

std::expected<std::string, std::string> parse_listen_address(std::string_view text) {
  if (auto fault = missing_brackets(text)) return std::unexpected(std::move(*fault));
  auto address = text;
  if (text.starts_with('[') && text.ends_with(']')) address = text.substr(1, text.size() - 2);
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(address), error);  // which takes a zone as well
  if (!error) return std::string(address);
  return std::unexpected("expected an IP address, got '" + std::string(text) + "'");
}

std::string endpoint_text(const std::string& address, std::uint16_t port) {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]:" : address + ":") + std::to_string(port);
}

std::string address_text(boost::asio::ip::address address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    address = boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6());
  }
  return address.to_string();
}

}  // namespace simco::net
