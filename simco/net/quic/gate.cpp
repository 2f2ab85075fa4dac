// Version negotiation, Retry and stateless reset (RFC 9000 6, 8.1.2, 10.3), with ngtcp2's functions
// for packets.
#include "simco/net/quic/gate.hpp"

#include <gnutls/crypto.h>

#include <algorithm>

#include "simco/net/endpoint.hpp"
#include "simco/net/quic/library.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::quic {
namespace {

using Udp = boost::asio::ip::udp;

const std::uint8_t* octets_of(std::span<const std::byte> packet) {
  return reinterpret_cast<const std::uint8_t*>(packet.data());
}

template <std::size_t kSize>
std::array<std::uint8_t, kSize> random_octets() {
  std::array<std::uint8_t, kSize> result;
  const int made = gnutls_rnd(GNUTLS_RND_NONCE, result.data(), result.size());
  SIMCO_ASSERT(made == 0);
  return result;
}

Gate::Verdict answer(std::span<const std::uint8_t> octets) {
  const auto bytes = std::as_bytes(octets);
  return Gate::Answer(bytes.begin(), bytes.end());
}

template <std::size_t kSize>
Gate::Verdict answer(const std::array<std::uint8_t, kSize>& room, ngtcp2_ssize size) {
  if (size <= 0) return {};
  return answer(std::span(room).first(static_cast<std::size_t>(size)));
}

Gate::Verdict negotiate(const ngtcp2_version_cid& envelope) {
  constexpr std::array<std::uint32_t, 1> kVersions = {NGTCP2_PROTO_VER_V1};
  std::array<std::uint8_t, kPacketSize> room;
  const auto random = random_octets<1>()[0];
  return answer(room, ngtcp2_pkt_write_version_negotiation(
                          room.data(), room.size(), random, envelope.scid, envelope.scidlen,
                          envelope.dcid, envelope.dcidlen, kVersions.data(), kVersions.size()));
}

bool is_long(std::span<const std::byte> packet) {
  return (std::to_integer<unsigned>(packet.front()) & 0x80U) != 0;
}

/// The fields that can be read without keys, of any version; nothing if it is not QUIC.
std::optional<ngtcp2_version_cid> envelope_of(std::span<const std::byte> packet) {
  if (packet.empty()) return std::nullopt;  // which ngtcp2 takes for a mistake of ours
  ngtcp2_version_cid envelope{};
  const int decoded =
      ngtcp2_pkt_decode_version_cid(&envelope, octets_of(packet), packet.size(), kIdSize);
  if (decoded != 0 && decoded != NGTCP2_ERR_VERSION_NEGOTIATION) return std::nullopt;
  return envelope;
}

/// True of another version than ours; 0 is that of a version negotiation.
bool is_foreign(std::span<const std::byte> packet, const ngtcp2_version_cid& envelope) {
  return is_long(packet) && envelope.version != NGTCP2_PROTO_VER_V1 && envelope.version != 0;
}

}  // namespace

std::optional<std::string_view> destination_of(std::span<const std::byte> packet) {
  const auto envelope = envelope_of(packet);
  if (!envelope || is_foreign(packet, *envelope)) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(envelope->dcid), envelope->dcidlen);
}

ConnectionId random_id() {
  const auto octets = random_octets<kIdSize>();
  return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

Secret random_secret() {
  const auto octets = random_octets<sizeof(Secret)>();
  Secret result;
  std::ranges::copy(std::as_bytes(std::span(octets)), result.begin());
  return result;
}

Gate::Verdict Gate::judge(std::span<const std::byte> packet, const Udp::endpoint& remote,
                          bool proof, Time now) const {
  const auto envelope = envelope_of(packet);
  if (!envelope) return {};
  if (is_foreign(packet, *envelope)) {
    return packet.size() < kPacketSize ? Verdict{} : negotiate(*envelope);
  }
  return is_long(packet) ? admission(packet, remote, proof, now) : reset(packet);
}

Secret secret_at(const Secret& secret, const boost::asio::ip::udp::endpoint& local) {
  const auto where = endpoint_text(address_text(local.address()), local.port());
  Secret result{};
  const int made = gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret.data(), secret.size(), where.data(),
                                    where.size(), result.data());
  SIMCO_ASSERT(made == 0);
  return result;
}

ResetToken Gate::reset_token(const ConnectionId& id) const {
  ResetToken token{};
  const auto cid = library_id(id);
  const int made = ngtcp2_crypto_generate_stateless_reset_token(
      token.data(), reinterpret_cast<const std::uint8_t*>(resets_.data()), resets_.size(), &cid);
  SIMCO_ASSERT(made == 0);
  return token;
}

// Shorter than the packet that it answers, so that two ends that know nothing do not go on
// indefinitely.
Gate::Verdict Gate::reset(std::span<const std::byte> packet) const {
  if (packet.size() <= kResetMin) return {};
  const auto token = reset_token(ConnectionId(*destination_of(packet)));
  const auto random = random_octets<kResetMax - NGTCP2_STATELESS_RESET_TOKENLEN>();
  const auto size = std::min(kResetMax, packet.size() - 1);
  std::array<std::uint8_t, kResetMax> room;
  return answer(room,
                ngtcp2_pkt_write_stateless_reset(room.data(), size, token.data(), random.data(),
                                                 size - NGTCP2_STATELESS_RESET_TOKENLEN));
}

Gate::Verdict Gate::admission(std::span<const std::byte> packet, const Udp::endpoint& remote,
                              bool proof, Time now) const {
  ngtcp2_pkt_hd header{};
  if (packet.size() < kPacketSize ||
      ngtcp2_accept(&header, octets_of(packet), packet.size()) != 0 ||
      header.type != NGTCP2_PKT_INITIAL) {
    return {};
  }
  const auto* address = reinterpret_cast<const ngtcp2_sockaddr*>(remote.data());
  const auto address_size = static_cast<ngtcp2_socklen>(remote.size());
  const auto* secret = reinterpret_cast<const std::uint8_t*>(retries_.data());
  const auto time = static_cast<ngtcp2_tstamp>(now.count());
  Admission result{own_id(header.scid), own_id(header.dcid), own_id(header.dcid), {}};
  ngtcp2_cid original{};
  const auto token = token_of(header);
  std::array<std::uint8_t, kPacketSize> room;
  if (!token.empty() && token[0] == NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY) {
    if (ngtcp2_crypto_verify_retry_token(
            &original, token.data(), token.size(), secret, retries_.size(), header.version, address,
            address_size, &header.dcid,
            static_cast<ngtcp2_duration>(std::chrono::nanoseconds(kRetryTimeout).count()),
            time) != 0) {
      // It would not hear a second Retry (RFC 9000 8.1.2).
      return answer(room, ngtcp2_crypto_write_connection_close(
                              room.data(), room.size(), header.version, &header.scid, &header.dcid,
                              NGTCP2_INVALID_TOKEN, nullptr, 0));
    }
    result.original = own_id(original);
    result.token.assign(reinterpret_cast<const char*>(token.data()), token.size());
    return result;
  }
  if (!proof) return result;
  const auto id = library_id(random_id());
  std::array<std::uint8_t, NGTCP2_CRYPTO_MAX_RETRY_TOKENLEN> retry;
  const auto size =
      ngtcp2_crypto_generate_retry_token(retry.data(), secret, retries_.size(), header.version,
                                         address, address_size, &id, &header.dcid, time);
  if (size <= 0) return {};
  return answer(
      room, ngtcp2_crypto_write_retry(room.data(), room.size(), header.version, &header.scid, &id,
                                      &header.dcid, retry.data(), static_cast<std::size_t>(size)));
}

}  // namespace simco::net::quic
