// The TLS session of a connection (RFC 9001), and which certificates are good. It is needed until
// the handshake is over.
#pragma once

#include <gnutls/gnutls.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simco/net/quic/credentials.hpp"
#include "simco/net/quic/ngtcp2.hpp"

namespace simco::net::quic {

class TlsSession {
 public:
  /// An agent's if there is a `name`: then the peer's certificate must be valid for it.
  TlsSession(std::shared_ptr<const Credentials> credentials, const std::string* name);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession() { gnutls_deinit(session_); }

  /// The library has the handshake of `connection` made here.
  void attach(ngtcp2_conn* connection);
  /// The handshake is over: the library needs this no more.
  void detach();
  /// True if both ends speak SIMCO.
  bool agreed() const;
  /// Names in the peer's certificate.
  std::vector<std::string> peer_names() const;
  /// Why the peer's certificate is not good, if it is not.
  const std::optional<CertificateFault>& rejected() const { return rejected_; }

 private:
  static ngtcp2_conn* connection_of(ngtcp2_crypto_conn_ref* back);
  static int verify(gnutls_session_t session) noexcept;
  static int keep_secret(gnutls_session_t, const char*, const gnutls_datum_t*) { return 0; }
  bool peer_is_valid();

  std::shared_ptr<const Credentials> credentials_;
  std::string expected_name_;
  gnutls_session_t session_ = nullptr;
  ngtcp2_conn* connection_ = nullptr;
  ngtcp2_crypto_conn_ref back_{connection_of, this};
  std::optional<CertificateFault> rejected_;
};

}  // namespace simco::net::quic
