// Certificates and keys for QUIC, which has TLS 1.3 built in (RFC 9001).
#pragma once

#include <array>
#include <cstddef>
#include <expected>
#include <memory>
#include <string>

#include "simco/net/tls.hpp"

struct gnutls_certificate_credentials_st;
struct gnutls_priority_st;

namespace simco::net::quic {

/// A secret that does not change when the program is started again.
using Secret = std::array<std::byte, 32>;

/// The files of a TlsContext, for QUIC. Immutable; connections share it.
class Credentials {
 public:
  /// Reads the files. Returns a sentence that names the file at fault if that fails, or says that
  /// this program has no QUIC.
  static std::expected<std::shared_ptr<const Credentials>, std::string> load(TlsSide side,
                                                                             const TlsFiles& files);
  TlsSide side() const { return side_; }
  gnutls_certificate_credentials_st* get() const { return credentials_.get(); }
  /// The cipher suites and groups of QUIC. Connections share them: reading them takes as long as
  /// several packets.
  gnutls_priority_st* priorities() const { return priorities_.get(); }
  /// Made from the private key: for tokens that still hold after a restart (RFC 9000 10.3.2).
  const Secret& secret() const { return secret_; }

 private:
  struct Free {
    void operator()(gnutls_certificate_credentials_st* credentials) const;
    void operator()(gnutls_priority_st* priorities) const;
  };
  explicit Credentials(TlsSide side) : side_(side) {}

  TlsSide side_;
  std::unique_ptr<gnutls_certificate_credentials_st, Free> credentials_;
  std::unique_ptr<gnutls_priority_st, Free> priorities_;
  Secret secret_{};
};

}  // namespace simco::net::quic
