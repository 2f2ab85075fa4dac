#include "simco/net/quic/credentials.hpp"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include <string_view>

#include "simco/library/optional.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::quic {
namespace {

// TLS 1.3 with the cipher suites and groups that QUIC can use (RFC 9001 5.3).
constexpr const char* kPriorities =
    "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:"
    "+AES-256-GCM:+CHACHA20-POLY1305:-GROUP-ALL:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:"
    "+GROUP-SECP521R1";

/// HMAC of a purpose under the private key; false without a key that can be read.
bool derive(gnutls_certificate_credentials_st* credentials, Secret& secret) {
  gnutls_x509_privkey_t key = nullptr;
  if (gnutls_certificate_get_x509_key(credentials, 0, &key) != 0) return false;
  std::array<std::byte, kPrivateKeyMax> octets{};
  std::size_t size = octets.size();
  const int exported = gnutls_x509_privkey_export(key, GNUTLS_X509_FMT_DER, octets.data(), &size);
  gnutls_x509_privkey_deinit(key);
  if (exported != 0) return false;
  constexpr std::string_view kPurpose = "simco quic tokens";
  const int made = gnutls_hmac_fast(GNUTLS_MAC_SHA256, octets.data(), size, kPurpose.data(),
                                    kPurpose.size(), secret.data());
  gnutls_memset(octets.data(), 0, octets.size());
  return made == 0;
}

}  // namespace

void Credentials::Free::operator()(gnutls_certificate_credentials_st* credentials) const {
  gnutls_certificate_free_credentials(credentials);
}
void Credentials::Free::operator()(gnutls_priority_st* priorities) const {
  gnutls_priority_deinit(priorities);
}

std::expected<std::shared_ptr<const Credentials>, std::string> Credentials::load(
    TlsSide side, const TlsFiles& files) {
  if (const char* fault = library::fault_in(simco_load_quic)) return std::unexpected(fault);
  gnutls_certificate_credentials_t raw = nullptr;
  const int made = gnutls_certificate_allocate_credentials(&raw);
  SIMCO_ASSERT(made == 0);
  std::shared_ptr<Credentials> result(new Credentials(side));
  result->credentials_.reset(raw);
  gnutls_priority_t priorities = nullptr;
  // The system's configuration may disable TLS 1.3.
  if (const int why = gnutls_priority_init(&priorities, kPriorities, nullptr); why != 0) {
    return std::unexpected(std::string("the GnuTLS configuration of this system refuses the cipher "
                                       "suites of QUIC: ") +
                           gnutls_strerror(why));
  }
  result->priorities_.reset(priorities);
  const auto fault = [](const std::string& file, int why) {
    return std::unexpected(file + ": " + gnutls_strerror(why));
  };
  const int trusted =
      gnutls_certificate_set_x509_trust_file(raw, files.authority.c_str(), GNUTLS_X509_FMT_PEM);
  if (trusted < 0) return fault(files.authority, trusted);
  if (files.certificate.empty()) return result;
  const int own = gnutls_certificate_set_x509_key_file2(
      raw, files.certificate.c_str(), files.key.c_str(), GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (own < 0) return fault(files.certificate + " with " + files.key, own);
  if (!derive(raw, result->secret_)) {
    return std::unexpected(files.key + ": this kind of key cannot be used with QUIC");
  }
  return result;
}

}  // namespace simco::net::quic
