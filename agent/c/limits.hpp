// Bounds of the C library. All of them are ours.
#pragma once

#include <cstddef>

namespace simco::agent::c {

/// Rule events that wait for simco_client_dispatch(). Further events stay with the client's thread,
/// which keeps kAgentEventsMax and counts those that it drops.
inline constexpr std::size_t kEventsDueMax = 256;

}  // namespace simco::agent::c
