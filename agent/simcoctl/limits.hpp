// Bounds of simcoctl. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco::ctl {

/// Longest wait for what an HTTP server answers as a whole.
inline constexpr std::chrono::seconds kHttpPatience{5};
/// Longest answer of an HTTP server, octets.
inline constexpr std::size_t kHttpAnswerMax = 16 * 1024 * 1024;

}  // namespace simco::ctl
