// Bounds of the HTTP server. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco::http {

/// Open connections of a server; further ones are closed at once.
inline constexpr std::size_t kConnectionsMax = 64;
/// Longest time from accepting a connection to closing it.
inline constexpr std::chrono::seconds kServerPatience{5};
/// Octets of the head of a request.
inline constexpr std::size_t kHeadMax = 8192;

}  // namespace simco::http
