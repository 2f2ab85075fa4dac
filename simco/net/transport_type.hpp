// The table of transports: name, abilities, and functions that open it. A further transport is a
// row in transport_type.cpp; only that file and its own files name it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simco/net/listener.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/transport.hpp"
#include "simco/net/transport_option.hpp"

namespace simco::net {

using Addresses = std::vector<boost::asio::ip::address>;

/// The addresses to listen on, and the callbacks; valid during the call only, except `read_buffer`.
struct ListenRequest {
  const boost::asio::any_io_executor& executor;
  const ListenOptions& options;
  const Addresses& addresses;  ///< of `options`
  ReadBuffer& read_buffer;
  const Listener::OnAccept& on_accept;
  const Listener::OnError& on_error;

  /// As `open`: returns a listener. Throws std::runtime_error with a sentence about `where` and
  /// `how` if that throws boost::system::system_error.
  std::unique_ptr<Listener> open(Transport transport, const boost::asio::ip::address& where,
                                 const std::string& how,
                                 const std::function<std::unique_ptr<Listener>()>& open) const;
};

/// The peer to connect to.
struct DialRequest {
  boost::asio::any_io_executor executor;
  TransportOptions options;
  std::string host;  ///< as the user wrote it
  std::uint16_t port;
  Addresses local;  ///< TransportOptions::local_addresses
  ReadBuffer& read_buffer;
};

/// Makes a connection to the first of several addresses that answers. Its handlers keep it alive.
class Dialer : public std::enable_shared_from_this<Dialer> {
 public:
  /// How an attempt ended.
  enum class Result : std::uint8_t {
    kConnected,
    kFailed,   ///< another address may answer
    kRefused,  ///< and no other address would do better
  };
  using Done = std::move_only_function<void(Result, const boost::system::error_code&,
                                            std::shared_ptr<MessageChannel>)>;

  Dialer() = default;
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  virtual ~Dialer() = default;

  /// Returns the alternatives to try in turn, each with all its addresses. `hosts` has the
  /// addresses of each host of the peer. Here: every address alone.
  virtual std::vector<Addresses> candidates(const std::vector<Addresses>& hosts);
  /// Tries an element of candidates(). Calls `done` once, unless it is cancelled first.
  void dial(const Addresses& candidate, Done done) {
    done_ = std::move(done);
    start(candidate);
  }
  /// Cancels the attempt: `done` will not be called.
  void cancel() {
    done_ = nullptr;
    stop();
  }

 protected:
  bool cancelled() const { return !done_; }
  void finish(Result result, const boost::system::error_code& error,
              std::shared_ptr<MessageChannel> channel = nullptr) {
    if (auto done = std::exchange(done_, nullptr)) done(result, error, std::move(channel));
  }

 private:
  virtual void start(const Addresses& candidate) = 0;
  virtual void stop() = 0;

  Done done_;
};

/// A row of the table.
struct TransportType {
  Transport transport;
  const char* name;        ///< on command lines, in configuration files, logs and reports
  bool reliable = false;   ///< every message arrives, in its stream's order, or the connection ends
  bool tls = false;        ///< goes over TLS if that is configured
  bool streams = false;    ///< has several streams, which do not wait for each other
  bool unordered = false;  ///< has messages that may overtake others of their stream
  /// The meaning of several local addresses, for `--help`; null if each stands alone.
  const char* several_addresses = nullptr;
  /// Opens listeners and adds them and warnings to the result.
  void (*listen)(const ListenRequest& request, Listening& result);
  std::shared_ptr<Dialer> (*make_dialer)(DialRequest request);
  /// Returns whose implementation these options mean: "kernel" or "userland".
  const char* (*stack)(const TransportOptions& options) = [](const TransportOptions&) {
    return "kernel";
  };
  /// Its options.
  std::span<const TransportOption> (*options)() = [] { return std::span<const TransportOption>(); };
  /// Returns a sentence about options that exclude each other, or nothing.
  std::optional<std::string> (*fault_in)(const TransportSettings& settings) =
      [](const TransportSettings&) { return std::optional<std::string>(); };
  /// TLS is a part of it, and not a layer over it.
  bool own_tls = false;
  /// Returns a sentence that says why it cannot be used on this machine and with these certificates
  /// (null: without any), or nothing.
  std::optional<std::string> (*fault_in_use)(const TransportSettings& settings,
                                             const TlsContext* tls) =
      [](const TransportSettings&, const TlsContext*) { return std::optional<std::string>(); };
};

/// The requirements of the protocol above.
enum class Need : std::uint8_t {
  kReliable,  ///< nothing is lost, as SIMCO does
  kAny,       ///< less will do: it sends lost messages again itself
};

/// All transports; the first is the default, and reliable.
std::span<const TransportType> transport_types();
const TransportType& type_of(Transport transport);
/// Returns whether it meets `need`.
bool suits(const TransportType& type, Need need);
/// Returns the transport `name` if it meets `need`, or nothing.
std::optional<Transport> find_transport(std::string_view name, Need need = Need::kReliable);
/// Returns the names of the transports that meet `need`, in the table's order.
std::vector<std::string> transport_names(Need need = Need::kReliable);
/// Returns the names of the transports that have `ability`, with `between` between them.
std::string transport_names(std::string_view between,
                            bool TransportType::* ability = &TransportType::reliable);
/// Returns whether `option`, of the row `owner`, applies to `transport`.
bool has_option(Transport transport, const TransportType& owner, const TransportOption& option);
/// Returns the names of the transports that have `option`, of the row `owner`: "sctp or quic".
std::string names_with(const TransportType& owner, const TransportOption& option);
/// Returns a sentence that says why the first of `transports` that cannot be used on this machine
/// with `settings` and `tls` cannot, or nothing.
std::optional<std::string> fault_in_use(std::span<const Transport> transports,
                                        const TransportSettings& settings, const TlsContext* tls);
/// Returns the meaning of several local addresses for transports that do not take them as
/// alternatives: the end of a sentence of `--help`, or nothing.
std::string several_addresses_note();

}  // namespace simco::net
