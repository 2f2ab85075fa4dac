// Accepts connections and associations.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simco/net/endpoint.hpp"
#include "simco/net/listen_options.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/read_buffer.hpp"
#include "simco/net/tls.hpp"
#include "simco/net/transport.hpp"

namespace simco::net {

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
