// Accepts connections and associations.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simco/net/endpoint.hpp"
#include "simco/net/limits.hpp"
#include "simco/net/message_channel.hpp"
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

/// Accepts connections. Must be destroyed only after the loop of its executor has stopped.
class Listener {
 public:
  using OnAccept = std::function<void(std::shared_ptr<MessageChannel>)>;
  using OnError = std::function<void(const boost::system::error_code&)>;
  using OnRefused = ListenOptions::OnRefused;

  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener() = default;

  /// Accepts no further connections and makes no further callback; existing connections continue.
  virtual void stop() = 0;
  /// Sets TLS for connections accepted from now on; existing connections do not change.
  virtual void set_tls(std::shared_ptr<const TlsContext>) {}
  virtual Transport transport() const = 0;
  virtual std::uint16_t port() const = 0;
  /// Returns `ADDRESS:PORT` for each local address.
  virtual std::vector<std::string> endpoints() const = 0;
};

struct Listening {
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::string> notes;     ///< information for the operator, a sentence each
  std::vector<std::string> warnings;  ///< advice for the operator
};

/// Binds and listens. `on_error` gets the failures of accept(), each of which is followed by a
/// pause of kAcceptPause, during which connections wait in the kernel. Throws std::runtime_error
/// with a sentence on failure. `read_buffer` is shared by all channels of the loop.
Listening listen(const boost::asio::any_io_executor& executor, const ListenOptions& options,
                 ReadBuffer& read_buffer, const Listener::OnAccept& on_accept,
                 const Listener::OnError& on_error);

}  // namespace simco::net
