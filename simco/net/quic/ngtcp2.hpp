// ngtcp2 with the names of its version 1. Debian 12 has 0.12, which calls some of them otherwise.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace simco::net::quic {

/// Versions before 1.4.0 trust peers that they have authenticated: some frames must not reach them
/// (ngtcp2_guard.hpp). Later ones read all frames themselves, use the peer's further connection
/// identifiers, and end a connection also for an Initial packet that is malformed.
inline constexpr bool kNeedsGuard = NGTCP2_VERSION_NUM < 0x010400;

/// Versions from 1.0.0 on take each packet's time for the present, which must not go back: a pause
/// cannot be taken back there.
inline constexpr bool kAlwaysPaces = NGTCP2_VERSION_NUM >= 0x010000;

#if NGTCP2_VERSION_NUM < 0x010000
using ngtcp2_encryption_level = ::ngtcp2_crypto_level;
using ngtcp2_ccerr = ::ngtcp2_connection_close_error;
using ngtcp2_conn_info = ::ngtcp2_conn_stat;

inline constexpr auto NGTCP2_CCERR_TYPE_APPLICATION =
    NGTCP2_CONNECTION_CLOSE_ERROR_CODE_TYPE_APPLICATION;

inline void ngtcp2_ccerr_default(ngtcp2_ccerr* error) {
  ngtcp2_connection_close_error_default(error);
}
inline void ngtcp2_ccerr_set_application_error(ngtcp2_ccerr* error, std::uint64_t code,
                                               const std::uint8_t* reason, std::size_t size) {
  ngtcp2_connection_close_error_set_application_error(error, code, reason, size);
}
inline void ngtcp2_ccerr_set_transport_error(ngtcp2_ccerr* error, std::uint64_t code,
                                             const std::uint8_t* reason, std::size_t size) {
  ngtcp2_connection_close_error_set_transport_error(error, code, reason, size);
}
inline void ngtcp2_conn_get_conn_info(ngtcp2_conn* connection, ngtcp2_conn_info* info) {
  ngtcp2_conn_get_conn_stat(connection, info);
}
inline ngtcp2_ccerr close_error(ngtcp2_conn* connection) {
  ngtcp2_ccerr result;
  ngtcp2_conn_get_connection_close_error(connection, &result);
  return result;
}
inline std::span<const std::uint8_t> token_of(const ngtcp2_pkt_hd& header) {
  return {header.token.base, header.token.len};
}
inline void set_token(ngtcp2_settings& settings, std::span<std::uint8_t> token) {
  settings.token = {token.data(), token.size()};
}
inline void note_original_id(ngtcp2_transport_params&) {}
#else
inline ngtcp2_ccerr close_error(ngtcp2_conn* connection) {
  return *ngtcp2_conn_get_ccerr(connection);
}
inline std::span<const std::uint8_t> token_of(const ngtcp2_pkt_hd& header) {
  return {header.token, header.tokenlen};
}
inline void set_token(ngtcp2_settings& settings, std::span<std::uint8_t> token) {
  settings.token = token.data();
  settings.tokenlen = token.size();
  settings.token_type = NGTCP2_TOKEN_TYPE_RETRY;
}
inline void note_original_id(ngtcp2_transport_params& params) { params.original_dcid_present = 1; }
#endif

}  // namespace simco::net::quic
