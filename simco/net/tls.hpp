// TLS (RFC 8446, RFC 5246) with certificates on both sides: who the peer is, is what its
// certificate says.
#pragma once

#include <sys/types.h>

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct ssl_ctx_st;
struct ssl_st;

namespace simco::net {

/// First octet of a TLS connection (a handshake record). No SIMCO message begins with it.
inline constexpr std::uint8_t kTlsFirstOctet = 0x16;

/// Files in PEM format.
struct TlsFiles {
  std::string certificate;  ///< ours, and those between it and the authority's
  std::string key;          ///< private key of ours
  std::string authority;    ///< certificates of those who may have signed the peer's
  bool empty() const { return certificate.empty() && key.empty() && authority.empty(); }
};

enum class TlsSide : std::uint8_t { kMiddlebox, kAgent };

/// What connections have in common: keys, authorities, settings. Immutable; connections that were
/// made with one keep it for as long as they need it. TLS 1.2 and 1.3 (RFC 8996), cipher suites
/// with forward secrecy and authenticated encryption, no resumption: each connection presents its
/// certificate.
class TlsContext {
 public:
  /// Reads the files, or answers with a sentence that names the one at fault. For a middlebox all
  /// three have to be there; an agent without certificate and key reaches no middlebox of ours.
  static std::expected<std::shared_ptr<const TlsContext>, std::string> load(TlsSide side,
                                                                            const TlsFiles& files);
  TlsSide side() const { return side_; }
  ssl_ctx_st* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  TlsContext(TlsSide side, ssl_ctx_st* context) : side_(side), context_(context) {}

  TlsSide side_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

/// TLS over a connected, non-blocking socket that the caller owns and that outlives it. Behaves
/// like the socket: receive() and send() answer a count, 0 for the end of the input, or -1 with
/// errno EAGAIN if they must wait, or EPROTO if error() has the cause.
class TlsStream {
 public:
  /// `name`: whom an agent expects at the other end, a host name or an address.
  TlsStream(std::shared_ptr<const TlsContext> context, int socket, const std::string& name = {});
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;
  ~TlsStream();

  /// Goes on with the handshake. True: it is done. False: wait for the socket (wants_write() tells
  /// for what), or for nothing more where error() is set.
  bool handshake();
  ssize_t receive(std::span<std::byte> buffer);
  ssize_t send(std::span<const std::byte> octets);
  /// Tells the peer that nothing more will come, as far as the socket takes that now.
  void shutdown();

  /// The last receive() has filled its buffer: there may be more, and the socket need not become
  /// readable for it.
  bool pending() const { return filled_; }
  /// What had to wait, waits for the socket to become writable.
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
  /// The outcome of an operation that did not succeed, as a socket would tell it.
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

}  // namespace simco::net
