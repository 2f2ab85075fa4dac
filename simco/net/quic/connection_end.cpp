// The peer's CONNECTION_CLOSE, as an error for the user.
#include "simco/net/quic/connection_end.hpp"

#include <ngtcp2/ngtcp2.h>

#include <boost/asio/error.hpp>

#include "simco/net/error.hpp"
#include "simco/net/tls.hpp"

namespace simco::net::quic {

using boost::system::error_code;

namespace {

constexpr std::uint64_t kLastAlert = kAlertBase + 0xFF;

error_code why_peer_closed(ngtcp2_conn* connection) {
  ngtcp2_connection_close_error error;
  ngtcp2_conn_get_connection_close_error(connection, &error);
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

}  // namespace

void ConnectionEnd::set_closed_by_peer(ngtcp2_conn* connection) {
  if (reset_) return set(boost::asio::error::connection_reset);
  closing_packet_.emplace();
  set(why_peer_closed(connection));
}

}  // namespace simco::net::quic
