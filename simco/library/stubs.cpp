// Takes the place of a library in a program that loads it when asked: has its functions that our
// code calls, as jumps to the real ones. The build makes SIMCO_FUNCTIONS, a file of FUNCTION(name)
// for each of them (scripts/functions_of), and defines SIMCO_LOAD, the name of simco_load_*, and
// SIMCO_LIBRARY and SIMCO_PACKAGE, the library's file and who has it.
#include <dlfcn.h>

#include <mutex>
#include <string>

#include "simco/library/optional.hpp"

// First what marks the target of an indirect call, for processors that insist on it.
#if defined(__x86_64__)
#define JUMP_TO(slot) "endbr64\njmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP_TO(slot) "hint #34\nadrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#endif

extern "C" {
#define FUNCTION(name) [[gnu::visibility("hidden"), gnu::used]] void* simco_slot_##name;
#include SIMCO_FUNCTIONS
#undef FUNCTION
}

#define FUNCTION(name)                                                        \
  asm(".pushsection .text\n.globl " #name "\n.hidden " #name "\n.type " #name \
      ", %function\n.balign 16\n" #name                                       \
      ":\n" JUMP_TO("simco_slot_" #name) ".size " #name ", . - " #name "\n.popsection");
#include SIMCO_FUNCTIONS
#undef FUNCTION

namespace {

struct Function {
  const char* name;
  void** slot;
};
constexpr Function kFunctions[] = {
#define FUNCTION(name) {#name, &simco_slot_##name},
#include SIMCO_FUNCTIONS
#undef FUNCTION
};

/// As if the program had been linked with it: what is preloaded comes before it.
std::string load() {
  const auto fault = [] {
    const std::string package = SIMCO_PACKAGE;
    return std::string("cannot load ") + ::dlerror() +
           (package.empty() ? "" : ": install the package " + package);
  };
  if (::dlopen(SIMCO_LIBRARY, RTLD_NOW | RTLD_GLOBAL) == nullptr) return fault();
  for (const auto& [name, slot] : kFunctions) {
    *slot = ::dlsym(RTLD_DEFAULT, name);
    if (*slot == nullptr) return fault();
  }
  return {};
}

}  // namespace

// A library that is missing may come while the program runs.
extern "C" const char* SIMCO_LOAD() {
  static std::mutex one_at_a_time;
  static bool loaded = false;
  thread_local std::string fault;
  const std::lock_guard lock(one_at_a_time);
  if (loaded) return nullptr;
  fault = load();
  loaded = fault.empty();
  return loaded ? nullptr : fault.c_str();
}
