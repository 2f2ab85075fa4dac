// The TLS session of a connection, and which certificates are good.
#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <array>
#include <new>
#include <utility>

#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/library.hpp"

namespace simco::net::quic {
namespace {

// TLS 1.3 with the cipher suites and groups that QUIC can use (RFC 9001 5.3).
constexpr const char* kPriorities =
    "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:"
    "+AES-256-GCM:+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:"
    "+GROUP-SECP521R1";

/// Connections share them: read once, which takes as long as several packets.
gnutls_priority_t priorities() {
  static const gnutls_priority_t made = [] {
    gnutls_priority_t result = nullptr;
    if (gnutls_priority_init(&result, kPriorities, nullptr) != 0) throw std::bad_alloc();
    return result;
  }();
  return made;
}

/// An address in numbers as its octets; empty if `text` is none.
std::string address_octets(const std::string& text) {
  std::array<char, sizeof(in6_addr)> room;
  if (::inet_pton(AF_INET, text.c_str(), room.data()) == 1) return {room.data(), sizeof(in_addr)};
  if (::inet_pton(AF_INET6, text.c_str(), room.data()) == 1) return {room.data(), sizeof(in6_addr)};
  return {};
}

CertificateFault fault_of(unsigned status) {
  for (const auto& [bit, fault] :
       {std::pair{GNUTLS_CERT_SIGNER_NOT_FOUND, CertificateFault::kUnknownAuthority},
        std::pair{GNUTLS_CERT_EXPIRED, CertificateFault::kExpired},
        std::pair{GNUTLS_CERT_NOT_ACTIVATED, CertificateFault::kNotYetValid},
        std::pair{GNUTLS_CERT_REVOKED, CertificateFault::kRevoked},
        std::pair{GNUTLS_CERT_UNEXPECTED_OWNER, CertificateFault::kOtherName},
        std::pair{GNUTLS_CERT_PURPOSE_MISMATCH, CertificateFault::kOtherPurpose}}) {
    if ((status & static_cast<unsigned>(bit)) != 0) return fault;
  }
  return CertificateFault::kOther;
}

}  // namespace

ngtcp2_conn* Connection::Tls::connection_of(ngtcp2_crypto_conn_ref* back) {
  return static_cast<Connection*>(back->user_data)->library_.get();
}

int Connection::Tls::verify(gnutls_session_t session) {
  auto* back = static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session));
  try {
    return static_cast<Connection*>(back->user_data)->peer_is_valid()
               ? 0
               : GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
  } catch (const std::bad_alloc&) {
    return GNUTLS_E_MEMORY_ERROR;
  }
}

int Connection::Tls::keep_secret(gnutls_session_t, const char*, const gnutls_datum_t*) { return 0; }

void Connection::set_up_tls(const Call* call) {
  const bool agent = credentials_->side() == TlsSide::kAgent;
  // No tickets: each connection presents its certificates, and there is no 0-RTT, whose requests
  // could be replayed.
  const unsigned flags =
      agent ? unsigned{GNUTLS_CLIENT} | GNUTLS_FORCE_CLIENT_CERT
            : unsigned{GNUTLS_SERVER} | GNUTLS_NO_TICKETS | GNUTLS_NO_AUTO_SEND_TICKET;
  if (gnutls_init(&tls_->session, flags) != 0) throw std::bad_alloc();
  auto* session = tls_->session;
  if (gnutls_priority_set(session, priorities()) != 0 ||
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_->get()) != 0) {
    throw std::bad_alloc();
  }
  // GnuTLS would write its secrets to SSLKEYLOGFILE.
  gnutls_session_set_keylog_function(session, Tls::keep_secret);
  tls_->back = {Tls::connection_of, this};
  gnutls_session_set_ptr(session, &tls_->back);
  gnutls_session_set_verify_function(session, Tls::verify);
  std::string name(kAlpn);
  const gnutls_datum_t protocol{reinterpret_cast<unsigned char*>(name.data()),
                                static_cast<unsigned>(name.size())};
  gnutls_alpn_set_protocols(session, &protocol, 1, GNUTLS_ALPN_MANDATORY);
  if (!agent) {
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    ngtcp2_crypto_gnutls_configure_server_session(session);
    return;
  }
  expected_name_ = call->name;
  if (address_octets(expected_name_).empty()) {
    gnutls_server_name_set(session, GNUTLS_NAME_DNS, expected_name_.data(), expected_name_.size());
  }
  ngtcp2_crypto_gnutls_configure_client_session(session);
}

bool Connection::peer_is_valid() {
  const bool agent = credentials_->side() == TlsSide::kAgent;
  std::string purpose = agent ? GNUTLS_KP_TLS_WWW_SERVER : GNUTLS_KP_TLS_WWW_CLIENT;
  std::string address = address_octets(expected_name_);
  const auto item = [](gnutls_vdata_types_t type, std::string& value) {
    return gnutls_typed_vdata_st{type, reinterpret_cast<unsigned char*>(value.data()),
                                 static_cast<unsigned>(value.size())};
  };
  std::array<gnutls_typed_vdata_st, 2> wanted = {item(GNUTLS_DT_KEY_PURPOSE_OID, purpose),
                                                 address.empty()
                                                     ? item(GNUTLS_DT_DNS_HOSTNAME, expected_name_)
                                                     : item(GNUTLS_DT_IP_ADDRESS, address)};
  unsigned status = 0;
  const int result =
      gnutls_certificate_verify_peers(tls_->session, wanted.data(), agent ? 2 : 1, &status);
  if (result == 0 && status == 0) return true;
  rejected_ = result == 0 ? fault_of(status) : CertificateFault::kOther;
  return false;
}

void Connection::end_tls() {
  unsigned count = 0;
  const auto* certificates = gnutls_certificate_get_peers(tls_->session, &count);
  if (certificates != nullptr && count != 0) {
    peer_names_ =
        names_in_certificate(std::as_bytes(std::span(certificates[0].data, certificates[0].size)));
  }
  ngtcp2_conn_set_tls_native_handle(library_.get(), nullptr);
  tls_.reset();
}

}  // namespace simco::net::quic
