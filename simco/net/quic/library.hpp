// What the parts of a connection share of ngtcp2 and GnuTLS; included by its sources only.
#pragma once

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <string_view>

#include "simco/net/quic/connection.hpp"

namespace simco::net::quic {

/// What both ends must agree on (RFC 7301).
inline constexpr std::string_view kAlpn = "simco";

inline ngtcp2_tstamp timestamp(Time now) { return static_cast<ngtcp2_tstamp>(now.count()); }

/// `way` as the library has it, valid as long as both exist.
class PathOf {
 public:
  explicit PathOf(const Connection::Way& way)
      : way_(way), path_{address(way_.local), address(way_.remote), nullptr} {}
  PathOf(const PathOf&) = delete;
  PathOf& operator=(const PathOf&) = delete;
  const ngtcp2_path* get() const { return &path_; }

 private:
  static ngtcp2_addr address(Connection::Udp::endpoint& endpoint) {
    return {reinterpret_cast<ngtcp2_sockaddr*>(endpoint.data()),
            static_cast<ngtcp2_socklen>(endpoint.size())};
  }
  Connection::Way way_;
  ngtcp2_path path_;
};

/// The TLS session of a connection, which refers back to it.
struct Connection::Tls {
  Tls() = default;
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;
  ~Tls() {
    if (session != nullptr) gnutls_deinit(session);
  }
  gnutls_session_t session = nullptr;
  ngtcp2_crypto_conn_ref back{};
};

}  // namespace simco::net::quic
