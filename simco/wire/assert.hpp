// Assertions that stay on in release builds: a broken invariant in a program that opens firewalls
// must stop it, not let it go on guessing. For programmer errors only, never for a peer's input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace simco::detail {
[[noreturn]] inline void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}
}  // namespace simco::detail

/// Aborts with file, line and condition unless `condition` holds.
#define SIMCO_ASSERT(condition)       \
  ((condition) ? static_cast<void>(0) \
               : ::simco::detail::assertion_failed(#condition, __FILE__, __LINE__))
