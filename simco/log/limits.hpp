// Bounds of the log. All of them are ours.
#pragma once

#include <chrono>
#include <cstddef>

namespace simco {

/// Lines of the log that wait for standard error, octets; further ones are lost, and counted.
inline constexpr std::size_t kLogQueueOctets = 256 * 1024;
/// Longest time that the end of the program waits for them.
inline constexpr std::chrono::seconds kLogPatience{1};

}  // namespace simco
