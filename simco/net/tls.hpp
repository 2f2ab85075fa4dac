// TLS (RFC 8446, RFC 5246) with certificates on both sides, which identify the peers.
#pragma once

#include <sys/types.h>

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct ssl_ctx_st;
struct ssl_st;

namespace simco::net::quic {
class Credentials;
}

namespace simco::net {

/// First octet of a TLS connection (a handshake record). No SIMCO message begins with it.
inline constexpr std::uint8_t kTlsFirstOctet = 0x16;

/// Files in PEM format.
struct TlsFiles {
  std::string certificate;  ///< ours, and intermediate certificates
  std::string key;          ///< our private key
  std::string authority;    ///< certificates of the authorities that may have signed the peer's
  bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
};

enum class TlsSide : std::uint8_t { kMiddlebox, kAgent };

/// Keys, authorities and settings that connections share. Immutable; each connection keeps the
/// context that it was made with. TLS 1.2 and 1.3 (RFC 8996), cipher suites with forward secrecy
/// and authenticated encryption, no resumption: each connection presents its certificate.
class TlsContext {
 public:
  /// Reads the files. Returns a sentence that names the file at fault if that fails. A middlebox
  /// needs all three; without certificate and key, no middlebox of ours accepts an agent.
  static std::expected<std::shared_ptr<const TlsContext>, std::string> load(TlsSide side,
                                                                            const TlsFiles& files);
  TlsSide side() const { return side_; }
  ssl_ctx_st* get() const { return context_.get(); }
  /// Returns the same for QUIC, or a sentence that says why it cannot be used there. In a program
  /// that loads the library of QUIC, the first call reads the files.
  const std::expected<std::shared_ptr<const quic::Credentials>, std::string>& quic() const;

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  TlsContext(TlsSide side, TlsFiles files, ssl_ctx_st* context)
      : side_(side), files_(std::move(files)), context_(context) {}

  TlsSide side_;
  TlsFiles files_;
  mutable std::once_flag quic_read_;
  mutable std::expected<std::shared_ptr<const quic::Credentials>, std::string> quic_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

/// TLS over a connected, non-blocking socket that the caller owns and that outlives it. Behaves
/// like the socket: receive() and send() return a count, 0 for the end of the input, or -1 with
/// errno EAGAIN if they must wait, or EPROTO if error() has the cause.
class TlsStream {
 public:
  /// `name`: the host name or address that an agent expects in the peer's certificate.
  TlsStream(std::shared_ptr<const TlsContext> context, int socket, const std::string& name = {});
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;
  ~TlsStream();

  /// Continues the handshake. Returns true when it is complete, false if the socket must become
  /// ready first (wants_write() tells the direction) or, with error() set, if it has failed.
  bool handshake();
  ssize_t receive(std::span<std::byte> buffer);
  ssize_t send(std::span<const std::byte> octets);
  /// Announces the end of the output to the peer, if the socket accepts that now.
  void shutdown();

  /// The last receive() has filled its buffer: there may be more, and the socket need not become
  /// readable for it.
  bool pending() const { return filled_; }
  /// True if the operation that had to wait needs the socket to be writable.
  bool wants_write() const { return wants_write_; }
  const boost::system::error_code& error() const { return error_; }
  /// Names of the peer's certificate: those of its extension subjectAltName (DNS names, URIs), or,
  /// if it has none, its common name (RFC 6125, 6.4.4). After the handshake.
  std::vector<std::string> peer_names() const;
  /// Such as "TLSv1.3".
  std::string version() const;

 private:
  struct Free {
    void operator()(ssl_st* stream) const;
  };
  /// Returns the outcome of an operation that did not succeed, as a socket would report it.
  ssize_t failed(int result);

  std::shared_ptr<const TlsContext> context_;
  int socket_;
  std::unique_ptr<ssl_st, Free> stream_;
  boost::system::error_code error_;
  bool wants_write_ = false;
  bool filled_ = false;
};

/// Category of TlsStream::error(); its name is "simco.tls".
const boost::system::error_category& tls_category();
/// Returns the error that an alert of the peer stands for (RFC 8446 6).
boost::system::error_code tls_alert(std::uint8_t alert);
/// Why a peer's certificate is rejected.
enum class CertificateFault : std::uint8_t {
  kExpired,
  kNotYetValid,
  kUnknownAuthority,
  kRevoked,
  kOtherName,     ///< it is not for the name or address that was asked for
  kOtherPurpose,  ///< it is not for this side of a connection
  kOther,
};
/// Returns the error that TLS has for it.
boost::system::error_code tls_error(CertificateFault fault);
/// Returns the names of a certificate, as TlsStream::peer_names() does; none if it cannot be read.
std::vector<std::string> names_in_certificate(std::span<const std::byte> der);

}  // namespace simco::net
