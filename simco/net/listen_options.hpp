// Where to listen, and with which transports.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simco/net/limits.hpp"
#include "simco/net/tls.hpp"
#include "simco/net/transport.hpp"
#include "simco/wire/limits.hpp"

namespace simco::net {

/// Where to listen, and with which transports.
struct ListenOptions {
  /// The TLS handshake of a connection from that address has failed.
  using OnRefused = std::function<void(const std::string&, const boost::system::error_code&)>;

  std::vector<Transport> transports{Transport::kTcp};
  /// For TCP a listener each, for the kernel's SCTP the addresses of an endpoint (multi-homing).
  std::vector<std::string> addresses{"127.0.0.1"};
  std::uint16_t port = kSimcoPort;  ///< 0: any free one
  TransportSettings settings = {};
  /// TCP: connections that begin with a TLS handshake use TLS, others do not. Null: none do.
  std::shared_ptr<const TlsContext> tls = {};
  std::size_t handshakes_max = kHandshakesMax;  ///< TLS handshakes of a listener at a time
  OnRefused on_refused = [](const std::string&, const boost::system::error_code&) {};
};

}  // namespace simco::net
