// Libraries that programs load when they are asked for what takes them, so that they do not weigh
// on others. Our code calls their functions as usual, once fault_in() has returned null. Which
// programs do so is decided when they are linked (scripts/optional_library.cmake).
#pragma once

extern "C" {
// Defined in a program that loads the library (stubs.cpp); null in one that is linked with it.
[[gnu::weak, gnu::visibility("hidden")]] const char* simco_load_hiredis();
[[gnu::weak, gnu::visibility("hidden")]] const char* simco_load_quic();
[[gnu::weak, gnu::visibility("hidden")]] const char* simco_load_usrsctp();
}

namespace simco::library {

using Load = const char* (*)();

/// Loads the library, unless it is there. Returns a sentence that says what is missing, or null.
inline const char* fault_in(Load load) { return load == nullptr ? nullptr : load(); }

}  // namespace simco::library
