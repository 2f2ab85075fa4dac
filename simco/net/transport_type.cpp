// The table, and look-ups in it.
#include "simco/net/transport_type.hpp"

#include <algorithm>
#include <array>
#include <boost/system/system_error.hpp>
#include <stdexcept>

#include "simco/net/endpoint.hpp"
#include "simco/net/transports.hpp"
#include "simco/wire/assert.hpp"
#include "simco/wire/table.hpp"

namespace simco::net {
namespace {

constexpr std::array kTransports = {
    TransportType{.transport = Transport::kTcp,
                  .name = "tcp",
                  .reliable = true,
                  .tls = true,
                  .listen = listen_tcp,
                  .make_dialer = make_tcp_dialer},
    TransportType{.transport = Transport::kSctp,
                  .name = "sctp",
                  .reliable = true,
                  .streams = true,
                  .unordered = true,
                  .several_addresses = "with the kernel's SCTP, all of them become paths of one "
                                       "association (multi-homing)",
                  .listen = sctp::listen,
                  .make_dialer = sctp::make_dialer,
                  .stack = sctp::stack,
                  .options = sctp::options,
                  .fault_in = sctp::fault_in,
                  .fault_in_use = sctp::fault_in_use},
    TransportType{.transport = Transport::kQuic,
                  .name = "quic",
                  .reliable = true,
                  .tls = true,
                  .streams = true,
                  .listen = quic::listen,
                  .make_dialer = quic::make_dialer,
                  .stack = [](const TransportOptions&) { return "userland"; },
                  .options = quic::options,
                  .fault_in = quic::fault_in,
                  .own_tls = true,
                  .fault_in_use = quic::fault_in_use},
    TransportType{.transport = Transport::kUdp,
                  .name = "udp",
                  .listen = udp::listen,
                  .make_dialer = udp::make_dialer},
};

}  // namespace

std::span<const TransportType> transport_types() { return kTransports; }

const TransportType& type_of(Transport transport) {
  const auto row = std::ranges::find(kTransports, transport, &TransportType::transport);
  SIMCO_ASSERT(row != kTransports.end());
  return *row;
}

bool suits(const TransportType& type, Need need) { return need == Need::kAny || type.reliable; }

std::optional<Transport> find_transport(std::string_view name, Need need) {
  const auto row = position_of(kTransports, name);
  if (!row || !suits(kTransports[*row], need)) return std::nullopt;
  return kTransports[*row].transport;
}

std::vector<std::string> transport_names(Need need) {
  std::vector<std::string> result;
  for (const auto& type : kTransports) {
    if (suits(type, need)) result.emplace_back(type.name);
  }
  return result;
}

std::string transport_names(std::string_view between, bool TransportType::* ability) {
  std::string result;
  for (const auto& type : kTransports) {
    if (!(type.*ability)) continue;
    if (!result.empty()) result += between;
    result += type.name;
  }
  return result;
}

bool has_option(Transport transport, const TransportType& owner, const TransportOption& option) {
  if (transport == owner.transport) return true;
  return option.ability != nullptr && type_of(transport).*option.ability;
}

std::string names_with(const TransportType& owner, const TransportOption& option) {
  return option.ability == nullptr ? owner.name : transport_names(" or ", option.ability);
}

std::string several_addresses_note() {
  std::string result;
  for (const auto& type : kTransports) {
    if (type.several_addresses != nullptr) result += std::string("; ") + type.several_addresses;
  }
  return result;
}

std::optional<std::string> fault_in_use(std::span<const Transport> transports,
                                        const TransportSettings& settings, const TlsContext* tls) {
  for (const auto one : transports) {
    const auto& type = type_of(one);
    if (auto fault = type.fault_in_use(settings, tls)) {
      return std::string("transport ") + type.name + ": " + *fault;
    }
  }
  return std::nullopt;
}

const char* to_string(Transport transport) { return type_of(transport).name; }

std::string TransportOption::text(const TransportSettings& settings) const {
  const auto value = get(settings);
  switch (kind) {
    case Kind::kNumber: break;
    case Kind::kFlag: return value != 0 ? "true" : "false";
    case Kind::kChoice: return choices[value];
  }
  return std::to_string(value);
}

void set_option(TransportSettings& settings, std::string_view name, std::uint32_t value) {
  for (const auto& type : kTransports) {
    for (const auto& option : type.options()) {
      if (name == option.name) return option.set(settings, value);
    }
  }
  SIMCO_ASSERT(false);
}

Listening listen(const boost::asio::any_io_executor& executor, const ListenOptions& options,
                 ReadBuffer& read_buffer, const Listener::OnAccept& on_accept,
                 const Listener::OnError& on_error) {
  Addresses addresses;
  for (const auto& text : options.addresses) {
    boost::system::error_code error;
    addresses.push_back(boost::asio::ip::make_address(text, error));
    if (error) throw std::runtime_error("cannot listen on '" + text + "': not an IP address");
  }
  const ListenRequest request{executor, options, addresses, read_buffer, on_accept, on_error};
  Listening result;
  for (const auto transport : options.transports) type_of(transport).listen(request, result);
  return result;
}

std::unique_ptr<Listener> ListenRequest::open(
    Transport transport, const boost::asio::ip::address& where, const std::string& how,
    const std::function<std::unique_ptr<Listener>()>& open) const {
  try {
    return open();
  } catch (const boost::system::system_error& failure) {
    throw std::runtime_error("cannot listen on " + std::string(to_string(transport)) + " " +
                             endpoint_text(where.to_string(), options.port) + how + ": " +
                             failure.code().message());
  }
}

std::vector<Addresses> Dialer::candidates(const std::vector<Addresses>& hosts) {
  std::vector<Addresses> result;
  for (const auto& host : hosts) {
    for (const auto& address : host) result.push_back({address});
  }
  return result;
}

}  // namespace simco::net
