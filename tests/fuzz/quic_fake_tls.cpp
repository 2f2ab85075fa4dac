// TLS for the fuzzer of QUIC: both ends agree at once, nothing is sealed and no number is random.
// So inputs reach the code behind the keys, take microseconds, and do the same each time.
//
// The handshake has three pieces: the agent's transport parameters, an octet and then the
// middlebox's transport parameters, and an octet of the agent's.
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "simco/net/quic/credentials.hpp"
#include "tests/fuzz/quic_fakes.hpp"

namespace simco::fuzz {

std::span<const std::byte> forged_frames;

}  // namespace simco::fuzz

namespace {

#if NGTCP2_VERSION_NUM < 0x010000
using Level = ngtcp2_crypto_level;
constexpr auto kInitial = NGTCP2_CRYPTO_LEVEL_INITIAL;
constexpr auto kHandshake = NGTCP2_CRYPTO_LEVEL_HANDSHAKE;
int decode(ngtcp2_conn* connection, const std::uint8_t* octets, std::size_t size) {
  return ngtcp2_conn_decode_remote_transport_params(connection, octets, size);
}
void complete(ngtcp2_conn* connection) { ngtcp2_conn_handshake_completed(connection); }
#else
using Level = ngtcp2_encryption_level;
constexpr auto kInitial = NGTCP2_ENCRYPTION_LEVEL_INITIAL;
constexpr auto kHandshake = NGTCP2_ENCRYPTION_LEVEL_HANDSHAKE;
int decode(ngtcp2_conn* connection, const std::uint8_t* octets, std::size_t size) {
  return ngtcp2_conn_decode_and_set_remote_transport_params(connection, octets, size);
}
void complete(ngtcp2_conn* connection) { ngtcp2_conn_tls_handshake_completed(connection); }
#endif

constexpr std::size_t kTag = 16;
constexpr std::array<std::uint8_t, 16> kNothing{};
std::uint8_t counter = 0;

ngtcp2_crypto_ctx context() {
  ngtcp2_crypto_ctx result{};
  result.aead.max_overhead = kTag;
  result.max_encryption = result.max_decryption_failure = 1U << 20;
  return result;
}

int install_initial_keys(ngtcp2_conn* connection) {
  const auto how = context();
  const ngtcp2_crypto_aead_ctx aead{};
  const ngtcp2_crypto_cipher_ctx cipher{};
  ngtcp2_conn_set_initial_crypto_ctx(connection, &how);
  return ngtcp2_conn_install_initial_key(connection, &aead, kNothing.data(), &cipher, &aead,
                                         kNothing.data(), &cipher, kNothing.size());
}

int install_keys(ngtcp2_conn* connection) {
  const auto how = context();
  const ngtcp2_crypto_aead_ctx aead{};
  const ngtcp2_crypto_cipher_ctx cipher{};
  const auto* octets = kNothing.data();
  constexpr auto kSize = kNothing.size();
  ngtcp2_conn_set_crypto_ctx(connection, &how);
  if (ngtcp2_conn_install_rx_handshake_key(connection, &aead, octets, kSize, &cipher) != 0 ||
      ngtcp2_conn_install_tx_handshake_key(connection, &aead, octets, kSize, &cipher) != 0) {
    return -1;
  }
  return ngtcp2_conn_install_tx_key(connection, octets, kSize, &aead, octets, kSize, &cipher);
}

/// Transport parameters go the other way round in the two directions.
int say_parameters(ngtcp2_conn* connection, Level level) {
  std::array<std::uint8_t, 512> room;
  const auto size = ngtcp2_conn_encode_local_transport_params(connection, room.data(), room.size());
  if (size < 0) return -1;
  return ngtcp2_conn_submit_crypto_data(connection, level, room.data(),
                                        static_cast<std::size_t>(size));
}

int hear_parameters(ngtcp2_conn* connection, const std::uint8_t* octets, std::size_t size) {
  if (decode(connection, octets, size) == 0) return 0;
  ngtcp2_conn_set_tls_alert(connection, GNUTLS_A_DECODE_ERROR);
  return NGTCP2_ERR_CRYPTO;
}

int finish(ngtcp2_conn* connection) {
  const ngtcp2_crypto_aead_ctx aead{};
  const ngtcp2_crypto_cipher_ctx cipher{};
  if (ngtcp2_conn_install_rx_key(connection, kNothing.data(), kNothing.size(), &aead,
                                 kNothing.data(), kNothing.size(), &cipher) != 0) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  complete(connection);
  return 0;
}

int hear_middlebox(ngtcp2_conn* connection, Level level, const std::uint8_t* octets,
                   std::size_t size) {
  if (level == kInitial) return install_keys(connection);
  if (const int why = hear_parameters(connection, octets, size); why != 0) return why;
  const std::uint8_t done = 1;
  if (ngtcp2_conn_submit_crypto_data(connection, kHandshake, &done, 1) != 0) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  return finish(connection);
}

int hear_agent(ngtcp2_conn* connection, Level level, const std::uint8_t* octets, std::size_t size) {
  if (level != kInitial) return finish(connection);
  if (const int why = hear_parameters(connection, octets, size); why != 0) return why;
  const std::uint8_t hello = 2;
  if (ngtcp2_conn_submit_crypto_data(connection, kInitial, &hello, 1) != 0 ||
      install_keys(connection) != 0 || say_parameters(connection, kHandshake) != 0) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  return 0;
}

}  // namespace

// --- Calls of the parts under test --------------------------------------------------------------

extern "C" {

int ngtcp2_crypto_client_initial_cb(ngtcp2_conn* connection, void*) {
  if (install_initial_keys(connection) != 0 || say_parameters(connection, kInitial) != 0) {
    return NGTCP2_ERR_CALLBACK_FAILURE;
  }
  return 0;
}
int ngtcp2_crypto_recv_client_initial_cb(ngtcp2_conn* connection, const ngtcp2_cid*, void*) {
  return install_initial_keys(connection) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}
int ngtcp2_crypto_recv_retry_cb(ngtcp2_conn* connection, const ngtcp2_pkt_hd*, void*) {
  return install_initial_keys(connection) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}
int ngtcp2_crypto_recv_crypto_data_cb(ngtcp2_conn* connection, Level level, std::uint64_t,
                                      const std::uint8_t* octets, std::size_t size, void*) {
  if (ngtcp2_conn_get_handshake_completed(connection) != 0) return 0;
  return ngtcp2_conn_is_server(connection) != 0 ? hear_agent(connection, level, octets, size)
                                                : hear_middlebox(connection, level, octets, size);
}
int ngtcp2_crypto_encrypt_cb(std::uint8_t* dest, const ngtcp2_crypto_aead*,
                             const ngtcp2_crypto_aead_ctx*, const std::uint8_t* frames,
                             std::size_t size, const std::uint8_t*, std::size_t,
                             const std::uint8_t*, std::size_t) {
  std::memmove(dest, frames, size);
  std::memset(dest + size, 0, kTag);
  auto& forged = simco::fuzz::forged_frames;
  if (forged.empty() || forged.size() > size) return 0;
  std::memset(dest, 0, size);  // padding
  std::memcpy(dest, forged.data(), forged.size());
  forged = {};
  return 0;
}
int ngtcp2_crypto_decrypt_cb(std::uint8_t* dest, const ngtcp2_crypto_aead*,
                             const ngtcp2_crypto_aead_ctx*, const std::uint8_t* sealed,
                             std::size_t size, const std::uint8_t*, std::size_t,
                             const std::uint8_t*, std::size_t) {
  if (size < kTag) return NGTCP2_ERR_DECRYPT;
  std::memmove(dest, sealed, size - kTag);
  return 0;
}
int ngtcp2_crypto_hp_mask_cb(std::uint8_t* dest, const ngtcp2_crypto_cipher*,
                             const ngtcp2_crypto_cipher_ctx*, const std::uint8_t*) {
  std::memset(dest, 0, NGTCP2_HP_MASKLEN);
  return 0;
}
int ngtcp2_crypto_update_key_cb(ngtcp2_conn*, std::uint8_t* rx_secret, std::uint8_t* tx_secret,
                                ngtcp2_crypto_aead_ctx* rx, std::uint8_t* rx_iv,
                                ngtcp2_crypto_aead_ctx* tx, std::uint8_t* tx_iv,
                                const std::uint8_t*, const std::uint8_t*, std::size_t size, void*) {
  for (auto* secret : {rx_secret, tx_secret, rx_iv, tx_iv}) {
    std::memset(secret, 0, std::min(size, kNothing.size()));
  }
  *rx = *tx = {};
  return 0;
}
void ngtcp2_crypto_delete_crypto_aead_ctx_cb(ngtcp2_conn*, ngtcp2_crypto_aead_ctx*, void*) {}
void ngtcp2_crypto_delete_crypto_cipher_ctx_cb(ngtcp2_conn*, ngtcp2_crypto_cipher_ctx*, void*) {}
int ngtcp2_crypto_get_path_challenge_data_cb(ngtcp2_conn*, std::uint8_t* data, void*) {
  std::memset(data, ++counter, NGTCP2_PATH_CHALLENGE_DATALEN);
  return 0;
}
int ngtcp2_crypto_version_negotiation_cb(ngtcp2_conn* connection, std::uint32_t, const ngtcp2_cid*,
                                         void*) {
  return install_initial_keys(connection) == 0 ? 0 : NGTCP2_ERR_CALLBACK_FAILURE;
}
int ngtcp2_crypto_generate_stateless_reset_token(std::uint8_t* token, const std::uint8_t*,
                                                 std::size_t, const ngtcp2_cid* id) {
  std::memset(token, 0, NGTCP2_STATELESS_RESET_TOKENLEN);
  std::memcpy(token, id->data, std::min<std::size_t>(id->datalen, NGTCP2_STATELESS_RESET_TOKENLEN));
  return 0;
}

// A token is its mark, the length of the first identifier, and this.
ngtcp2_ssize ngtcp2_crypto_generate_retry_token(std::uint8_t* token, const std::uint8_t*,
                                                std::size_t, std::uint32_t, const ngtcp2_sockaddr*,
                                                ngtcp2_socklen, const ngtcp2_cid*,
                                                const ngtcp2_cid* original, ngtcp2_tstamp) {
  token[0] = NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY;
  token[1] = static_cast<std::uint8_t>(original->datalen);
  std::memcpy(token + 2, original->data, original->datalen);
  return static_cast<ngtcp2_ssize>(2 + original->datalen);
}
int ngtcp2_crypto_verify_retry_token(ngtcp2_cid* original, const std::uint8_t* token,
                                     std::size_t size, const std::uint8_t*, std::size_t,
                                     std::uint32_t, const ngtcp2_sockaddr*, ngtcp2_socklen,
                                     const ngtcp2_cid*, ngtcp2_duration, ngtcp2_tstamp) {
  if (size < 2 || token[1] > NGTCP2_MAX_CIDLEN || size != 2U + token[1]) return -1;
  ngtcp2_cid_init(original, token + 2, token[1]);
  return 0;
}
ngtcp2_ssize ngtcp2_crypto_write_retry(std::uint8_t* dest, std::size_t room, std::uint32_t version,
                                       const ngtcp2_cid* to, const ngtcp2_cid* from,
                                       const ngtcp2_cid* original, const std::uint8_t* token,
                                       std::size_t size) {
  const ngtcp2_crypto_aead aead{nullptr, kTag};
  const ngtcp2_crypto_aead_ctx none{};
  return ngtcp2_pkt_write_retry(dest, room, version, to, from, original, token, size,
                                ngtcp2_crypto_encrypt_cb, &aead, &none);
}
ngtcp2_ssize ngtcp2_crypto_write_connection_close(std::uint8_t* dest, std::size_t room,
                                                  std::uint32_t version, const ngtcp2_cid* to,
                                                  const ngtcp2_cid* from, std::uint64_t code,
                                                  const std::uint8_t* reason, std::size_t size) {
  const ngtcp2_crypto_aead aead{nullptr, kTag};
  const ngtcp2_crypto_aead_ctx none{};
  const ngtcp2_crypto_cipher cipher{};
  const ngtcp2_crypto_cipher_ctx mask{};
  return ngtcp2_pkt_write_connection_close(dest, room, version, to, from, code, reason, size,
                                           ngtcp2_crypto_encrypt_cb, &aead, &none, kNothing.data(),
                                           ngtcp2_crypto_hp_mask_cb, &cipher, &mask);
}
int ngtcp2_crypto_gnutls_configure_server_session(gnutls_session_t) { return 0; }
int ngtcp2_crypto_gnutls_configure_client_session(gnutls_session_t) { return 0; }

int gnutls_rnd(gnutls_rnd_level_t, void* data, std::size_t size) {
  std::memset(data, ++counter, size);
  return 0;
}
int gnutls_hmac_fast(gnutls_mac_algorithm_t, const void*, std::size_t, const void*, std::size_t,
                     void* digest) {
  std::memset(digest, 1, sizeof(simco::net::quic::Secret));
  return 0;
}
int gnutls_init(gnutls_session_t* session, unsigned) {
  *session = nullptr;
  return 0;
}
void gnutls_deinit(gnutls_session_t) {}
int gnutls_priority_init(gnutls_priority_t*, const char*, const char**) { return 0; }
int gnutls_priority_set(gnutls_session_t, gnutls_priority_t) { return 0; }
int gnutls_credentials_set(gnutls_session_t, gnutls_credentials_type_t, void*) { return 0; }
void gnutls_session_set_keylog_function(gnutls_session_t, gnutls_keylog_func) {}
void gnutls_session_set_ptr(gnutls_session_t, void*) {}
void* gnutls_session_get_ptr(gnutls_session_t) { return nullptr; }
void gnutls_session_set_verify_function(gnutls_session_t, gnutls_certificate_verify_function*) {}
int gnutls_alpn_set_protocols(gnutls_session_t, const gnutls_datum_t*, unsigned, unsigned) {
  return 0;
}
int gnutls_alpn_get_selected_protocol(gnutls_session_t, gnutls_datum_t* protocol) {
  static std::array<unsigned char, 5> name = {'s', 'i', 'm', 'c', 'o'};
  *protocol = {name.data(), static_cast<unsigned>(name.size())};
  return 0;
}
void gnutls_certificate_server_set_request(gnutls_session_t, gnutls_certificate_request_t) {}
int gnutls_server_name_set(gnutls_session_t, gnutls_server_name_type_t, const void*, std::size_t) {
  return 0;
}
int gnutls_certificate_verify_peers(gnutls_session_t, gnutls_typed_vdata_st*, unsigned, unsigned*) {
  return 0;
}
const gnutls_datum_t* gnutls_certificate_get_peers(gnutls_session_t, unsigned*) { return nullptr; }

}  // extern "C"

namespace simco::net {

std::vector<std::string> names_in_certificate(std::span<const std::byte>) { return {}; }
const boost::system::error_category& tls_category() { return boost::system::generic_category(); }
boost::system::error_code tls_alert(std::uint8_t) {
  return make_error_code(boost::system::errc::protocol_error);
}
boost::system::error_code tls_error(CertificateFault) { return tls_alert(0); }

namespace quic {

void Credentials::Free::operator()(gnutls_certificate_credentials_st*) const {}
void Credentials::Free::operator()(gnutls_priority_st*) const {}

std::expected<std::shared_ptr<const Credentials>, std::string> Credentials::load(TlsSide side,
                                                                                 const TlsFiles&) {
  return std::shared_ptr<Credentials>(new Credentials(side));
}

}  // namespace quic
}  // namespace simco::net
