// OpenSSL over a non-blocking socket: contexts from PEM files, and streams that answer as a socket
// would. Reasons of failures become messages of a line.
#include "simco/net/tls.hpp"
#include "simco/library/optional.hpp"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/quic/credentials.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net {

using boost::system::error_code;

namespace {

// Values of tls_category(): results of verifying a certificate, and OpenSSL's reasons above them.
constexpr int kVerifyMax = 0xFFFF;

class TlsCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "simco.tls"; }
  std::string message(int value) const override {
    if (value <= kVerifyMax) {
      return std::string("TLS: the peer's certificate was rejected: ") +
             X509_verify_cert_error_string(value);
    }
    const char* reason = ERR_reason_error_string(static_cast<unsigned long>(value));
    return std::string("TLS: ") + (reason == nullptr ? "failure" : reason);
  }
};

/// Why the last call of OpenSSL failed; clears its queue of errors.
std::string last_reason() {
  const auto code = ERR_peek_error();  // the first error: later entries only pass it on
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "cannot be used" : reason;
}

// --- The socket underneath: as OpenSSL's own, but without SIGPIPE --------------------------------

int descriptor_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

template <class Transfer>
int transfer(BIO* bio, int size, Transfer transfer) {
  BIO_clear_retry_flags(bio);
  const auto count = transfer(descriptor_of(bio), static_cast<std::size_t>(size));
  return static_cast<int>(count);
}

int read_socket(BIO* bio, char* octets, int size) {
  return transfer(bio, size, [&](int socket, std::size_t room) {
    const auto got = ::recv(socket, octets, room, MSG_DONTWAIT);
    if (got < 0 && would_block()) BIO_set_retry_read(bio);
    if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return got;
  });
}

int write_socket(BIO* bio, const char* octets, int size) {
  return transfer(bio, size, [&](int socket, std::size_t count) {
    const auto sent = ::send(socket, octets, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && would_block()) BIO_set_retry_write(bio);
    return sent;
  });
}

long control_socket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return 0;
}

BIO* make_bio(int socket) {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "simco socket");
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  BIO* bio = BIO_new(method);
  SIMCO_ASSERT(bio != nullptr);
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  return bio;
}

bool is_address(const std::string& text) {
  in6_addr room{};
  return ::inet_pton(AF_INET, text.c_str(), &room) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), &room) == 1;
}

std::string text_of(const ASN1_STRING* string) {
  const auto* octets = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  return {octets, static_cast<std::size_t>(ASN1_STRING_length(string))};
}

/// OpenSSL's memory is freed even if copying it throws.
struct FreeParsed {
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const noexcept { GENERAL_NAMES_free(names); }
  void operator()(unsigned char* octets) const noexcept { OPENSSL_free(octets); }
};

std::vector<std::string> names_of(X509* certificate) {
  std::vector<std::string> names;
  if (const std::unique_ptr<GENERAL_NAMES, FreeParsed> all{static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))}) {
    for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
      const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
      if (name->type == GEN_DNS) names.push_back(text_of(name->d.dNSName));
      if (name->type == GEN_URI) names.push_back(text_of(name->d.uniformResourceIdentifier));
    }
  }
  if (!names.empty()) return names;
  X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return names;
  unsigned char* octets = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&octets, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  const std::unique_ptr<unsigned char, FreeParsed> owner{size >= 0 ? octets : nullptr};
  if (size > 0) names.emplace_back(reinterpret_cast<char*>(octets), static_cast<std::size_t>(size));
  return names;
}

int verify_result_of(CertificateFault fault) {
  switch (fault) {
    case CertificateFault::kExpired: return X509_V_ERR_CERT_HAS_EXPIRED;
    case CertificateFault::kNotYetValid: return X509_V_ERR_CERT_NOT_YET_VALID;
    case CertificateFault::kUnknownAuthority: return X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY;
    case CertificateFault::kRevoked: return X509_V_ERR_CERT_REVOKED;
    case CertificateFault::kOtherName: return X509_V_ERR_HOSTNAME_MISMATCH;
    case CertificateFault::kOtherPurpose: return X509_V_ERR_INVALID_PURPOSE;
    case CertificateFault::kOther: break;
  }
  return X509_V_ERR_CERT_REJECTED;
}

}  // namespace

const boost::system::error_category& tls_category() {
  static const TlsCategory category;
  return category;
}

error_code tls_alert(std::uint8_t alert) {
  static const bool texts_loaded = OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr) == 1;
  static_cast<void>(texts_loaded);
  const auto reason = ERR_PACK(ERR_LIB_SSL, 0, SSL_AD_REASON_OFFSET + alert);
  return {static_cast<int>(reason), tls_category()};
}

error_code tls_error(CertificateFault fault) { return {verify_result_of(fault), tls_category()}; }

std::vector<std::string> names_in_certificate(std::span<const std::byte> der) {
  const auto* octets = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<X509, FreeParsed> certificate{
      d2i_X509(nullptr, &octets, static_cast<long>(der.size()))};
  if (!certificate) {
    ERR_clear_error();
    return {};
  }
  return names_of(certificate.get());
}

// --- TlsContext ----------------------------------------------------------------------------------

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

std::expected<std::shared_ptr<const TlsContext>, std::string> TlsContext::load(
    TlsSide side, const TlsFiles& files) {
  ERR_clear_error();
  const bool agent = side == TlsSide::kAgent;
  auto* raw = SSL_CTX_new(agent ? TLS_client_method() : TLS_server_method());
  if (raw == nullptr) return std::unexpected(std::string("OpenSSL: ") + last_reason());
  std::shared_ptr<TlsContext> context(new TlsContext(side, files, raw));
  // Without QUIC, a program that loads its library does not take it for TLS alone.
  if (simco_load_quic == nullptr) context->quic();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20");  // of TLS 1.2; those of 1.3 all are
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
                               SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  const auto fault = [](const std::string& file) {
    return std::unexpected(file + ": " + last_reason());
  };
  if (files.authority.empty()) {
    return std::unexpected(std::string("a TLS certificate needs an authority (CA) file as well"));
  }
  if (SSL_CTX_load_verify_locations(raw, files.authority.c_str(), nullptr) != 1) {
    return fault(files.authority);
  }
  if (!agent) {
    SSL_CTX_set_client_CA_list(raw, SSL_load_client_CA_file(files.authority.c_str()));
  }
  if (agent && files.certificate.empty() && files.key.empty()) return context;
  if (files.certificate.empty() || files.key.empty()) {
    return std::unexpected(std::string("give both a certificate and its key, or neither"));
  }
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1) {
    return fault(files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(raw) != 1) {
    return fault(files.key);
  }
  return context;
}

const std::expected<std::shared_ptr<const quic::Credentials>, std::string>& TlsContext::quic()
    const {
  std::call_once(quic_read_, [this] { quic_ = quic::Credentials::load(side_, files_); });
  return quic_;
}

// --- TlsStream -----------------------------------------------------------------------------------

void TlsStream::Free::operator()(ssl_st* stream) const { SSL_free(stream); }

TlsStream::TlsStream(std::shared_ptr<const TlsContext> context, int socket, const std::string& name)
    : context_(std::move(context)), socket_(socket), stream_(SSL_new(context_->get())) {
  SIMCO_ASSERT(stream_ != nullptr);
  BIO* bio = make_bio(socket_);
  SSL_set_bio(stream_.get(), bio, bio);
  if (context_->side() == TlsSide::kMiddlebox) {
    SSL_set_accept_state(stream_.get());
    return;
  }
  SSL_set_connect_state(stream_.get());
  if (is_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(stream_.get()), name.c_str());
  } else {
    SSL_set1_host(stream_.get(), name.c_str());
    SSL_set_tlsext_host_name(stream_.get(), name.c_str());
  }
}

TlsStream::~TlsStream() = default;

ssize_t TlsStream::failed(int result) {
  const int why = SSL_get_error(stream_.get(), result);
  wants_write_ = why == SSL_ERROR_WANT_WRITE;
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
    errno = EAGAIN;
    return -1;
  }
  if (why == SSL_ERROR_ZERO_RETURN) return 0;
  const auto verified = SSL_get_verify_result(stream_.get());
  const auto reason = ERR_peek_last_error();
  if (verified != X509_V_OK) {
    error_ = {static_cast<int>(verified), tls_category()};
  } else if (reason != 0 && reason <= std::numeric_limits<int>::max()) {
    error_ = {static_cast<int>(reason), tls_category()};
  } else {
    error_ = {errno == 0 ? ECONNRESET : errno, boost::system::system_category()};
  }
  ERR_clear_error();
  errno = EPROTO;
  return -1;
}

bool TlsStream::handshake() {
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(stream_.get());
  if (result == 1) return true;
  if (failed(result) == 0) error_ = {ECONNRESET, boost::system::system_category()};
  return false;
}

ssize_t TlsStream::receive(std::span<std::byte> buffer) {
  ERR_clear_error();
  std::size_t total = 0;
  filled_ = false;
  // A record at a time: octets left in the socket keep it readable, octets left here do not.
  while (total < buffer.size()) {
    errno = 0;
    const auto room = std::min<std::size_t>(buffer.size() - total, 1 << 30);
    const int got = SSL_read(stream_.get(), buffer.data() + total, static_cast<int>(room));
    if (got > 0) {
      total += static_cast<std::size_t>(got);
      continue;
    }
    if (total == 0) return failed(got);
    // It says so again when it is asked the next time.
    wants_write_ = SSL_want_write(stream_.get()) == 1;
    break;
  }
  filled_ = total == buffer.size();
  return static_cast<ssize_t>(total);
}

ssize_t TlsStream::send(std::span<const std::byte> octets) {
  ERR_clear_error();
  errno = 0;
  const auto size = std::min<std::size_t>(octets.size(), 1 << 30);
  const int sent = SSL_write(stream_.get(), octets.data(), static_cast<int>(size));
  return sent > 0 ? sent : failed(sent);
}

void TlsStream::shutdown() {
  ERR_clear_error();
  SSL_shutdown(stream_.get());
  ERR_clear_error();
}

std::string TlsStream::version() const { return SSL_get_version(stream_.get()); }

std::vector<std::string> TlsStream::peer_names() const {
  X509* certificate = SSL_get0_peer_certificate(stream_.get());
  return certificate == nullptr ? std::vector<std::string>() : names_of(certificate);
}

}  // namespace simco::net
