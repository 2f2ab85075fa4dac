#include "simco/session/authentication.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "simco/wire/assert.hpp"
#include "simco/wire/limits.hpp"

namespace simco {
namespace {

constexpr std::size_t kDigestSize = 32;
constexpr std::byte kNul{0};
using Octets = std::vector<std::byte>;

void append(Octets& to, std::string_view text) {
  const auto octets = std::as_bytes(std::span(text));
  to.insert(to.end(), octets.begin(), octets.end());
}

Octets hmac(std::string_view secret, const Octets& text) {
  Octets digest(kDigestSize);
  unsigned size = 0;
  const auto* done = ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                            reinterpret_cast<unsigned char*>(digest.data()), &size);
  SIMCO_ASSERT(done != nullptr && size == kDigestSize);
  return digest;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

ChallengeOctets random_challenge() {
  ChallengeOctets challenge;
  if (::getrandom(challenge.data(), challenge.size(), 0) !=
      static_cast<ssize_t>(challenge.size())) {
    throw std::system_error(errno, std::system_category(), "no random numbers");
  }
  return challenge;
}

std::vector<std::byte> make_agent_token(const Credentials& credentials,
                                        std::span<const std::byte> challenge) {
  Octets text;
  append(text, "simco-agent");
  text.push_back(kNul);
  text.insert(text.end(), challenge.begin(), challenge.end());
  text.push_back(kNul);
  append(text, credentials.name);
  Octets token;
  append(token, credentials.name);
  token.push_back(kNul);
  const auto digest = hmac(credentials.secret, text);
  token.insert(token.end(), digest.begin(), digest.end());
  return token;
}

std::optional<std::string_view> name_in_agent_token(std::span<const std::byte> token) {
  if (token.size() < 1 + 1 + kDigestSize) return std::nullopt;
  const auto name = token.first(token.size() - kDigestSize - 1);
  if (token[name.size()] != kNul || name.size() > kOwnerSizeMax) return std::nullopt;
  if (std::ranges::find(name, kNul) != name.end()) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(name.data()), name.size());
}

bool check_agent_token(std::span<const std::byte> token, std::string_view secret,
                       std::span<const std::byte> challenge) {
  const auto name = name_in_agent_token(token);
  if (!name) return false;
  const Credentials credentials{std::string(*name), std::string(secret)};
  return same(token, make_agent_token(credentials, challenge));
}

std::vector<std::byte> make_middlebox_token(std::string_view secret,
                                            std::span<const std::byte> challenge) {
  Octets text;
  append(text, "simco-middlebox");
  text.push_back(kNul);
  text.insert(text.end(), challenge.begin(), challenge.end());
  return hmac(secret, text);
}

bool check_middlebox_token(std::span<const std::byte> token, std::string_view secret,
                           std::span<const std::byte> challenge) {
  return same(token, make_middlebox_token(secret, challenge));
}

}  // namespace simco
