// GnuTLS makes the handshake with the certificates of the credentials, and verifies the peer here.
#include "simco/net/quic/tls_session.hpp"

#include <arpa/inet.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "simco/wire/assert.hpp"

namespace simco::net::quic {
namespace {

/// The protocol name of both ends (RFC 7301).
constexpr std::string_view kAlpn = "simco";

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

TlsSession::TlsSession(std::shared_ptr<const Credentials> credentials, const std::string* name)
    : credentials_(std::move(credentials)), expected_name_(name == nullptr ? "" : *name) {
  const bool agent = credentials_->side() == TlsSide::kAgent;
  // No tickets: each connection presents its certificates, and there is no 0-RTT, whose requests
  // could be replayed.
  const unsigned flags =
      agent ? unsigned{GNUTLS_CLIENT} | GNUTLS_FORCE_CLIENT_CERT
            : unsigned{GNUTLS_SERVER} | GNUTLS_NO_TICKETS | GNUTLS_NO_AUTO_SEND_TICKET;
  const bool made =
      gnutls_init(&session_, flags) == 0 &&
      gnutls_priority_set(session_, credentials_->priorities()) == 0 &&
      gnutls_credentials_set(session_, GNUTLS_CRD_CERTIFICATE, credentials_->get()) == 0;
  SIMCO_ASSERT(made);
  // GnuTLS would write its secrets to SSLKEYLOGFILE.
  gnutls_session_set_keylog_function(session_, keep_secret);
  gnutls_session_set_ptr(session_, &back_);
  gnutls_session_set_verify_function(session_, verify);
  std::string alpn(kAlpn);
  const gnutls_datum_t protocol{reinterpret_cast<unsigned char*>(alpn.data()),
                                static_cast<unsigned>(alpn.size())};
  gnutls_alpn_set_protocols(session_, &protocol, 1, GNUTLS_ALPN_MANDATORY);
  if (!agent) {
    gnutls_certificate_server_set_request(session_, GNUTLS_CERT_REQUIRE);
    ngtcp2_crypto_gnutls_configure_server_session(session_);
    return;
  }
  if (address_octets(expected_name_).empty()) {
    gnutls_server_name_set(session_, GNUTLS_NAME_DNS, expected_name_.data(), expected_name_.size());
  }
  ngtcp2_crypto_gnutls_configure_client_session(session_);
}

// --- For the library -----------------------------------------------------------------------------

void TlsSession::attach(ngtcp2_conn* connection) {
  connection_ = connection;
  ngtcp2_conn_set_tls_native_handle(connection, session_);
}

void TlsSession::detach() { ngtcp2_conn_set_tls_native_handle(connection_, nullptr); }

ngtcp2_conn* TlsSession::connection_of(ngtcp2_crypto_conn_ref* back) {
  return static_cast<TlsSession*>(back->user_data)->connection_;
}

int TlsSession::verify(gnutls_session_t session) noexcept {
  auto* back = static_cast<ngtcp2_crypto_conn_ref*>(gnutls_session_get_ptr(session));
  const bool valid = static_cast<TlsSession*>(back->user_data)->peer_is_valid();
  return valid ? 0 : GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
}

// --- The peer ------------------------------------------------------------------------------------

bool TlsSession::peer_is_valid() {
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
      gnutls_certificate_verify_peers(session_, wanted.data(), agent ? 2 : 1, &status);
  if (result == 0 && status == 0) return true;
  rejected_ = result == 0 ? fault_of(status) : CertificateFault::kOther;
  return false;
}

bool TlsSession::agreed() const {
  gnutls_datum_t protocol{};
  return gnutls_alpn_get_selected_protocol(session_, &protocol) == 0 &&
         std::string_view(reinterpret_cast<const char*>(protocol.data), protocol.size) == kAlpn;
}

std::vector<std::string> TlsSession::peer_names() const {
  unsigned count = 0;
  const auto* certificates = gnutls_certificate_get_peers(session_, &count);
  if (certificates == nullptr || count == 0) return {};
  return names_in_certificate(std::as_bytes(std::span(certificates[0].data, certificates[0].size)));
}

}  // namespace simco::net::quic
