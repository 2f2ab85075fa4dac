// Bounds of the ng protocol and of SDPs. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco::ng {

/// Octets of a cookie. Proxies use about 20.
inline constexpr std::size_t kCookieMax = 255;
/// Lists and dictionaries inside each other.
inline constexpr std::size_t kDepthMax = 16;
/// Octets of a call-id, a tag or a branch.
inline constexpr std::size_t kIdentifierMax = 1024;

/// Media of an SDP.
inline constexpr std::size_t kMediaMax = 32;
/// ICE candidates of an SDP.
inline constexpr std::size_t kCandidatesMax = 128;

/// How long a reply is kept for repetitions of its request.
inline constexpr std::chrono::seconds kRepliesKeptFor{30};
/// Octets of all replies that are kept; beyond it, the oldest are dropped.
inline constexpr std::size_t kRepliesOctetsMax = 64 * 1024 * 1024;

}  // namespace simco::ng
