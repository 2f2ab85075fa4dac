// No exception leaves the library: a C program cannot catch it.
#pragma once

#include <exception>
#include <new>

namespace simco::agent::c {

/// Returns the result of `work`, or `failed` if it throws: then memory is exhausted, or another
/// resource of the process. `tell` gets a sentence that names it.
template <class Result, class Work, class Tell = void (*)(const char*)>
Result guarded(Result failed, Work work, Tell tell = [](const char*) {}) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    tell("out of memory");
  } catch (const std::exception& failure) {
    tell(failure.what());
  }
  return failed;
}

}  // namespace simco::agent::c
