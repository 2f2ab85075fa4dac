// Authentication tokens for SA (RFC 4540 section 7.3 leaves the mechanism open). Each side proves
// that it knows a secret by an HMAC-SHA256 over the other's challenge:
//
//   agent's token       name NUL HMAC(secret, "simco-agent" NUL challenge NUL name)
//   middlebox's token   HMAC(secret, "simco-middlebox" NUL challenge)
//
// The agent's secret belongs to its name; the middlebox has its own.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace simco {

inline constexpr std::size_t kChallengeSize = 32;

/// The challenge of a middlebox or of this library's agent: random octets, used once.
using ChallengeOctets = std::array<std::byte, kChallengeSize>;

/// An agent's name and secret.
struct Credentials {
  std::string name;    ///< at most kOwnerSizeMax octets, none of them NUL
  std::string secret;  ///< any octets, shared with the middlebox
};

/// Returns 32 octets from the system's random number generator. Throws std::system_error on
/// failure.
ChallengeOctets random_challenge();

/// Returns the agent's answer to the middlebox's challenge.
std::vector<std::byte> make_agent_token(const Credentials& credentials,
                                        std::span<const std::byte> challenge);

/// Returns the name in an agent's token, or nullopt if it is malformed.
std::optional<std::string_view> name_in_agent_token(std::span<const std::byte> token);

/// True if `token`, which must be well-formed, proves that its sender knows `secret`. Compares in
/// constant time.
bool check_agent_token(std::span<const std::byte> token, std::string_view secret,
                       std::span<const std::byte> challenge);

/// Returns the middlebox's answer to an agent's challenge.
std::vector<std::byte> make_middlebox_token(std::string_view secret,
                                            std::span<const std::byte> challenge);

/// True if `token` proves that the middlebox knows `secret`. Compares in constant time.
bool check_middlebox_token(std::span<const std::byte> token, std::string_view secret,
                           std::span<const std::byte> challenge);

}  // namespace simco
