// The time that tests wait for events that must come. No test depends on how fast the machine is:
// each waits for an event, and the limit is there only so that a test that hangs ends one day.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace simco::test {

/// A guard against hanging, well above any duration on a very busy machine.
inline constexpr std::chrono::seconds kPatience{120};
/// Lifetime of rules in tests in real time that are not about lifetimes, seconds: longer than any
/// of them takes.
inline constexpr std::uint32_t kLongLifetimeS = 1800;
/// The interval of polling.
inline constexpr std::chrono::milliseconds kLook{5};
/// The time that tests watch for events that must not come. Later events are overlooked, and fail
/// no test.
inline constexpr std::chrono::milliseconds kWatch{100};

/// Looks at `condition` until it is true. Returns false if it never is.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace simco::test
