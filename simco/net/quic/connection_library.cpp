// How ngtcp2 is set up for a connection: its settings and the calls that it makes.
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

#include <algorithm>
#include <iterator>

#include "simco/net/limits.hpp"
#include "simco/net/quic/connection.hpp"
#include "simco/net/quic/library.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/net/quic/ngtcp2_guard.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::quic {
namespace {

ngtcp2_duration library_time(std::chrono::nanoseconds time) {
  return static_cast<ngtcp2_duration>(time.count());
}

ngtcp2_settings settings_of(const QuicOptions& options, Time now) {
  ngtcp2_settings settings;
  ngtcp2_settings_default(&settings);
  settings.initial_ts = timestamp(now);
  settings.initial_rtt = library_time(options.initial_rtt);
  settings.cc_algo =
      options.congestion == QuicCongestion::kBbr ? NGTCP2_CC_ALGO_BBR : NGTCP2_CC_ALGO_CUBIC;
  settings.max_tx_udp_payload_size = kPacketSize;
  settings.no_tx_udp_payload_size_shaping = 1;
  // With this size nothing is probed. Some versions of the library stop the program if probing is
  // switched off and a peer comes back to an earlier path.
  settings.no_pmtud = 0;
  settings.handshake_timeout = library_time(kHandshakeTimeout);
  return settings;
}

ngtcp2_transport_params params_of(const QuicOptions& options) {
  ngtcp2_transport_params params;
  ngtcp2_transport_params_default(&params);
  params.initial_max_streams_bidi = 0;
  params.initial_max_streams_uni = options.streams;
  // Only the window of the connection limits: a stream that had to wait for its own could leave a
  // message unfinished that others then follow.
  params.initial_max_stream_data_uni = kWindow;
  params.initial_max_data = kGuestWindow;
  params.max_idle_timeout = library_time(options.idle_timeout);
  params.max_ack_delay = library_time(options.ack_delay);
  params.active_connection_id_limit = kIdsMax;
  return params;
}

}  // namespace

/// Callbacks of ngtcp2. A callback only notes things and hands octets on; 0 means success. None
/// throws: no exception may pass through a library in C.
struct Connection::Library::Callbacks {
  static Connection& self(void* user) { return *static_cast<Connection*>(user); }

  /// Opens a packet. If the library does not bear its frames, they are wiped, and the packet is to
  /// it as one that cannot be opened, which it drops; receive() then ends the connection. An
  /// Initial packet is dropped only: anyone can have made it (RFC 9001 7). `header` is not sealed.
  static int decrypt(std::uint8_t* room, const ngtcp2_crypto_aead* aead,
                     const ngtcp2_crypto_aead_ctx* context, const std::uint8_t* sealed,
                     std::size_t size, const std::uint8_t* nonce, std::size_t nonce_size,
                     const std::uint8_t* header, std::size_t header_size) {
    const int why = ngtcp2_crypto_decrypt_cb(room, aead, context, sealed, size, nonce, nonce_size,
                                             header, header_size);
    if (!kNeedsGuard || why != 0 || size <= aead->max_overhead) return why;
    constexpr std::uint8_t kLongHeader = 0x80;  // RFC 9000 17.2
    constexpr std::uint8_t kLongType = 0x30;    // 0: Initial
    const auto form = (header[0] & kLongHeader) != 0 ? PacketForm::kLong : PacketForm::kShort;
    const auto frames = std::as_writable_bytes(std::span(room, size - aead->max_overhead));
    const auto refusal = guard(frames, form, receiving_->side_);
    if (!refusal) return 0;
    std::ranges::fill(frames, std::byte{0});
    const bool initial = form == PacketForm::kLong && (header[0] & kLongType) == 0;
    if (!initial) receiving_->end_.refuse(*refusal);
    return NGTCP2_ERR_DECRYPT;
  }
  static void random(std::uint8_t* room, std::size_t size, const ngtcp2_rand_ctx*) {
    // Not for secrets. Without random numbers, zeros would do as well.
    static_cast<void>(gnutls_rnd(GNUTLS_RND_NONCE, room, size));
  }
  /// GnuTLS keeps a message that is not complete, so its length is bounded (RFC 9000 7.5). When the
  /// connection is up, TLS is over: an agent passes over a middlebox's tickets (RFC 8446 4.6.1),
  /// and an agent has no message left that it may send (RFC 9001 4.8, 6).
  static int handshake(ngtcp2_conn* connection, ngtcp2_encryption_level level, std::uint64_t offset,
                       const std::uint8_t* octets, std::size_t size, void* user) {
    if (self(user).up()) {
      if (self(user).side_ == TlsSide::kAgent) return 0;
      ngtcp2_conn_set_tls_alert(connection, GNUTLS_A_UNEXPECTED_MESSAGE);
      return NGTCP2_ERR_CRYPTO;
    }
    if (offset > kCryptoMax || size > kCryptoMax - offset) return NGTCP2_ERR_CRYPTO_BUFFER_EXCEEDED;
    return ngtcp2_crypto_recv_crypto_data_cb(connection, level, offset, octets, size, user);
  }
  static int handshake_completed(ngtcp2_conn*, void* user) {
    self(user).stage_ = Stage::kHandshakeDone;
    return 0;
  }
  static int new_id(ngtcp2_conn*, ngtcp2_cid* id, std::uint8_t* token, std::size_t size,
                    void* user) noexcept {
    const auto made = random_id();
    SIMCO_ASSERT(size == made.size());
    *id = library_id(made);
    std::ranges::copy(self(user).user_.reset_token(made), token);
    self(user).user_.on_id(made);
    return 0;
  }
  static int retired_id(ngtcp2_conn*, const ngtcp2_cid* id, void* user) noexcept {
    self(user).user_.on_id_retired(own_id(*id));
    return 0;
  }
  static int received(ngtcp2_conn*, std::uint32_t flags, std::int64_t id, std::uint64_t,
                      const std::uint8_t* octets, std::size_t size, void* user, void*) noexcept {
    self(user).user_.on_input(static_cast<StreamNumber>(id >> 2),
                              std::as_bytes(std::span(octets, size)),
                              (flags & NGTCP2_STREAM_DATA_FLAG_FIN) != 0);
    return 0;
  }
  static int acknowledged(ngtcp2_conn*, std::int64_t id, std::uint64_t offset, std::uint64_t size,
                          void* user, void*) noexcept {
    self(user).send_.acknowledged(id, offset + size);
    return 0;
  }
  /// If there is a code, the peer refuses the stream (STOP_SENDING), or ends its own before all of
  /// it has come (RESET_STREAM).
  static int closed(ngtcp2_conn*, std::uint32_t flags, std::int64_t id, std::uint64_t, void* user,
                    void*) {
    if ((flags & NGTCP2_STREAM_CLOSE_FLAG_APP_ERROR_CODE_SET) != 0) self(user).end_.note_broken();
    self(user).send_.closed(id);
    return 0;
  }
  static int given_up(ngtcp2_conn*, std::int64_t, std::uint64_t, std::uint64_t, void* user, void*) {
    self(user).end_.note_broken();
    return 0;
  }
  static int reset(ngtcp2_conn*, const ngtcp2_pkt_stateless_reset*, void* user) {
    self(user).end_.note_reset();
    return 0;
  }

  static ngtcp2_callbacks callbacks() {
    ngtcp2_callbacks result{};
    result.client_initial = ngtcp2_crypto_client_initial_cb;
    result.recv_client_initial = ngtcp2_crypto_recv_client_initial_cb;
    result.recv_crypto_data = handshake;
    result.encrypt = ngtcp2_crypto_encrypt_cb;
    result.decrypt = decrypt;
    result.hp_mask = ngtcp2_crypto_hp_mask_cb;
    result.recv_retry = ngtcp2_crypto_recv_retry_cb;
    result.update_key = ngtcp2_crypto_update_key_cb;
    result.delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb;
    result.delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb;
    result.get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb;
    result.version_negotiation = ngtcp2_crypto_version_negotiation_cb;
    result.rand = random;
    result.handshake_completed = handshake_completed;
    result.get_new_connection_id = new_id;
    result.remove_connection_id = retired_id;
    result.recv_stream_data = received;
    result.acked_stream_data_offset = acknowledged;
    result.stream_close = closed;
    result.stream_reset = given_up;
    result.recv_stateless_reset = reset;
    return result;
  }
};

ngtcp2_conn* Connection::Library::make(Connection& connection, const Way& way,
                                       const QuicOptions& options, const Gate::Admission* admission,
                                       Time now) {
  auto settings = settings_of(options, now);
  auto params = params_of(options);
  // Copied by the library, which then takes the path for validated (RFC 9000 8.1.1).
  std::vector<std::uint8_t> token;
  const PathOf path(way);
  const auto id = random_id();
  const auto own = library_id(id);
  const auto callbacks = Callbacks::callbacks();
  ngtcp2_conn* made = nullptr;
  int why = 0;
  if (admission == nullptr) {
    const auto theirs = library_id(random_id());
    why = ngtcp2_conn_client_new(&made, &theirs, &own, path.get(), NGTCP2_PROTO_VER_V1, &callbacks,
                                 &settings, &params, connection.memory_->functions(), &connection);
  } else {
    params.original_dcid = library_id(admission->original);
    note_original_id(params);
    params.retry_scid = library_id(admission->destination);
    params.retry_scid_present = connection.proven() ? 1 : 0;
    std::ranges::copy(admission->token, std::back_inserter(token));
    set_token(settings, token);
    params.stateless_reset_token_present = 1;
    std::ranges::copy(connection.user_.reset_token(id), std::begin(params.stateless_reset_token));
    const auto theirs = library_id(admission->peer);
    why = ngtcp2_conn_server_new(&made, &theirs, &own, path.get(), NGTCP2_PROTO_VER_V1, &callbacks,
                                 &settings, &params, connection.memory_->functions(), &connection);
  }
  SIMCO_ASSERT(why == 0);
  connection.user_.on_id(id);
  return made;
}

}  // namespace simco::net::quic
