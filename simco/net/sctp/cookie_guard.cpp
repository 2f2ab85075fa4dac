// Finds the state cookie in a packet, appends the MAC to it or takes it off again, and rewrites
// the packet's lengths and checksum.
#include "simco/net/sctp/cookie_guard.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <usrsctp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "simco/net/sctp/packet.hpp"
#include "simco/wire/assert.hpp"

namespace simco::net::sctp {
namespace {

constexpr std::byte kInitAck{2};
constexpr std::byte kCookieEcho{10};
constexpr std::uint16_t kStateCookie = 7;  // RFC 9260 3.3.3
constexpr std::size_t kInitAckFixed = 16;  // before its parameters
constexpr std::size_t kParameterHeader = 4;
constexpr std::size_t kChecksumAt = 8;

void put16(std::span<std::byte> at, std::size_t value) {
  at[0] = static_cast<std::byte>(value >> 8);
  at[1] = static_cast<std::byte>(value);
}

std::uint32_t checksum_of(std::vector<std::byte>& packet) {
  std::memset(packet.data() + kChecksumAt, 0, sizeof(std::uint32_t));
  return usrsctp_crc32c(packet.data(), packet.size());
}

void write_checksum(std::vector<std::byte>& packet) {
  const auto checksum = checksum_of(packet);
  std::memcpy(packet.data() + kChecksumAt, &checksum, sizeof checksum);
}

/// Where the value of the parameter `type` begins in an INIT ACK, and its size.
struct Value {
  std::size_t at;
  std::size_t size;
};
std::optional<Value> find_parameter(std::span<const std::byte> packet, std::uint16_t type) {
  std::size_t at = kCommonHeader + kChunkHeader + kInitAckFixed;
  while (at + kParameterHeader <= packet.size()) {
    const std::size_t length = be16(packet.subspan(at + 2));
    if (length < kParameterHeader || at + length > packet.size()) return std::nullopt;
    if (be16(packet.subspan(at)) == type) {
      return Value{at + kParameterHeader, length - kParameterHeader};
    }
    at += padded(length);
  }
  return std::nullopt;
}

}  // namespace

CookieGuard::CookieGuard() {
  if (::getrandom(key_.data(), key_.size(), 0) != static_cast<ssize_t>(key_.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
}

CookieGuard::Mac CookieGuard::mac_of(const Path& path, std::uint16_t number,
                                     std::uint16_t local_port, std::uint16_t remote_port,
                                     std::span<const std::byte> cookie) {
  message_.clear();
  const auto add = [this](const auto& octets) {
    const auto bytes = std::as_bytes(std::span(octets));
    message_.insert(message_.end(), bytes.begin(), bytes.end());
  };
  for (const auto& address : {path.remote, path.local}) {
    message_.push_back(static_cast<std::byte>(address.is_v6()));
    address.is_v6() ? add(address.to_v6().to_bytes()) : add(address.to_v4().to_bytes());
  }
  add(std::array{path.remote_port, number, local_port, remote_port});
  add(cookie);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  const auto* done = HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
                          reinterpret_cast<const unsigned char*>(message_.data()), message_.size(),
                          digest.data(), nullptr);
  SIMCO_ASSERT(done != nullptr);
  Mac mac;
  std::memcpy(mac.data(), digest.data(), mac.size());
  return mac;
}

std::span<const std::byte> CookieGuard::seal(const Path& path, std::uint16_t number,
                                             std::span<const std::byte> packet) {
  constexpr std::size_t kFirst = kCommonHeader;
  if (packet.size() < kFirst + kChunkHeader || packet[kFirst] != kInitAck) return packet;
  const auto cookie = find_parameter(packet, kStateCookie);
  if (!cookie) return packet;
  const auto mac = mac_of(path, number, be16(packet), be16(packet.subspan(2)),
                          packet.subspan(cookie->at, cookie->size));
  packet_.assign(packet.begin(), packet.end());
  // Its size is a multiple of four: padding stays as it is.
  static_assert(kMacSize % 4 == 0);
  packet_.insert(packet_.begin() + static_cast<std::ptrdiff_t>(cookie->at + cookie->size),
                 mac.begin(), mac.end());
  const std::span all(packet_);
  put16(all.subspan(cookie->at - 2), kParameterHeader + cookie->size + kMacSize);
  put16(all.subspan(kFirst + 2), be16(all.subspan(kFirst + 2)) + kMacSize);
  write_checksum(packet_);
  return packet_;
}

bool CookieGuard::has_cookie(std::span<const std::byte> packet) {
  bool found = false;
  for_each_chunk(
      packet, [&](std::span<const std::byte> chunk) { found = found || chunk[0] == kCookieEcho; });
  return found;
}

std::optional<std::span<const std::byte>> CookieGuard::open(const Path& path, std::uint16_t number,
                                                            std::span<const std::byte> packet) {
  constexpr std::size_t kFirst = kCommonHeader;
  if (packet[kFirst] != kCookieEcho) return std::nullopt;  // RFC 9260 6.10: it comes first
  const std::size_t length = be16(packet.subspan(kFirst + 2));
  if (length < kChunkHeader + kMacSize || kFirst + length > packet.size()) return std::nullopt;
  const auto value = packet.subspan(kFirst + kChunkHeader, length - kChunkHeader);
  const auto cookie = value.first(value.size() - kMacSize);
  const auto mac = mac_of(path, number, be16(packet.subspan(2)), be16(packet), cookie);
  if (CRYPTO_memcmp(mac.data(), value.last(kMacSize).data(), kMacSize) != 0) return std::nullopt;
  // A second would go by unseen.
  const auto rest = packet.subspan(std::min(packet.size(), kFirst + padded(length)));
  bool another = false;
  for_each_chunk_of(rest, [&](std::span<const std::byte> chunk) {
    another = another || chunk[0] == kCookieEcho;
  });
  packet_.assign(packet.begin(), packet.end());
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, packet.data() + kChecksumAt, sizeof checksum);
  if (another || checksum_of(packet_) != checksum) return std::nullopt;
  const auto at = packet_.begin() + static_cast<std::ptrdiff_t>(kFirst + length - kMacSize);
  packet_.erase(at, at + kMacSize);
  put16(std::span(packet_).subspan(kFirst + 2), length - kMacSize);
  write_checksum(packet_);
  return packet_;
}

}  // namespace simco::net::sctp
