// Bounds of the metrics server. All of them are ours.
#pragma once

#include <cstddef>

namespace simco::metrics {

/// Threads that serve metrics: one for Prometheus, one for people.
inline constexpr std::size_t kServerThreads = 2;

}  // namespace simco::metrics
