// Whether this is a build with a sanitizer, which keeps freed memory for a while. g++ and clang say
// it differently.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SIMCO_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SIMCO_SANITIZED 1
#endif
#endif

namespace simco::test {

#ifdef SIMCO_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace simco::test
