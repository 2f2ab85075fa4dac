// Bounds of simcoctl. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco::ctl {

/// Maximum time for a complete HTTP response.
inline constexpr std::chrono::seconds kHttpPatience{5};
/// Maximum size of an HTTP response, bytes.
inline constexpr std::size_t kHttpAnswerMax = 16 * 1024 * 1024;

/// Maximum number of PRS requests under way, which hide the time that a reply takes.
inline constexpr std::size_t kStatusRequestsMax = 64;

/// Maximum number of rules that `explain` names because they differ from a packet in a single
/// point.
inline constexpr std::size_t kNearMissesMax = 5;

}  // namespace simco::ctl
