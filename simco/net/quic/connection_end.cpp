// How a connection ends, and what is said of it: to the peer as CONNECTION_CLOSE, to the user as an
// error.
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>

#include <array>
#include <boost/asio/error.hpp>
#include <new>

#include "simco/net/error.hpp"
#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/library.hpp"
#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

using boost::system::error_code;

namespace {

constexpr std::uint64_t kAlertBase = 0x100;  // RFC 9001 4.8: this and the alert
constexpr std::uint64_t kLastAlert = 0x1FF;

}  // namespace

void Connection::end(Goodbye goodbye, Time now) {
  if (!over_) send_close(static_cast<std::uint64_t>(goodbye), true, now);
}

void Connection::set_over(const error_code& reason) {
  if (!over_) over_ = reason;
}

void Connection::fail(int why, Time now) {
  switch (why) {
    case NGTCP2_ERR_DRAINING:
      if (!reset_seen_) farewell_.emplace();
      return set_over(why_peer_closed());
    case NGTCP2_ERR_RETRY: wants_proof_ = true; [[fallthrough]];
    case NGTCP2_ERR_CLOSING:
    case NGTCP2_ERR_DROP_CONN: return set_over(boost::asio::error::connection_aborted);
    case NGTCP2_ERR_IDLE_CLOSE:
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT: return set_over(boost::asio::error::timed_out);
    case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
    case NGTCP2_ERR_VERSION_NEGOTIATION_FAILURE: return set_over(NetError::kQuicVersion);
    case NGTCP2_ERR_CRYPTO: {
      const auto alert = ngtcp2_conn_get_tls_alert(library_.get());
      send_close(kAlertBase | alert, false, now);
      return set_over(rejected_ ? tls_error(*rejected_) : tls_alert(alert));
    }
    default: break;
  }
  // The library has found no memory, and must not be called again: the peer hears of the end by
  // a stateless reset, if this end gives any.
  if (ngtcp2_err_is_fatal(why) != 0) return set_over(boost::asio::error::no_memory);
  send_close(ngtcp2_err_infer_quic_transport_error_code(why), false, now);
  set_over(NetError::kQuicViolation);
}

void Connection::send_close(std::uint64_t code, bool application, Time now) {
  ngtcp2_connection_close_error error;
  ngtcp2_connection_close_error_default(&error);
  if (application) {
    ngtcp2_connection_close_error_set_application_error(&error, code, nullptr, 0);
  } else {
    ngtcp2_connection_close_error_set_transport_error(&error, code, nullptr, 0);
  }
  std::array<std::uint8_t, kPacketSize> packet;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  const auto size = ngtcp2_conn_write_connection_close(
      library_.get(), &path.path, &info, packet.data(), packet.size(), &error, timestamp(now));
  if (size <= 0) return;
  const auto made = std::as_bytes(std::span(packet).first(static_cast<std::size_t>(size)));
  try {
    farewell_.emplace(made.begin(), made.end());
  } catch (const std::bad_alloc&) {
    // If this packet is lost, the peer hears a stateless reset.
  }
  hand_out(path.path, made);
}

error_code Connection::why_peer_closed() const {
  if (reset_seen_) return boost::asio::error::connection_reset;
  ngtcp2_connection_close_error error;
  ngtcp2_conn_get_connection_close_error(library_.get(), &error);
  if (error.type == NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION) {
    return error.error_code == 0 ? error_code() : boost::asio::error::connection_reset;
  }
  if (error.error_code == NGTCP2_NO_ERROR) return {};
  if (error.error_code == NGTCP2_CONNECTION_REFUSED) return boost::asio::error::connection_refused;
  if (error.error_code >= kAlertBase && error.error_code <= kLastAlert) {
    return tls_alert(static_cast<std::uint8_t>(error.error_code - kAlertBase));
  }
  return boost::asio::error::connection_reset;
}

}  // namespace simco::net::quic
