// Takes the place of the library's operator new in the program that it is linked to.
#include "tests/support/memory_shortage.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace simco::test {
namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();
thread_local int allocations_left = kUnlimited;

}  // namespace

MemoryShortage::MemoryShortage(int allocations) { allocations_left = allocations; }
MemoryShortage::~MemoryShortage() { allocations_left = kUnlimited; }

}  // namespace simco::test

// g++ takes the inlined free() below for a mistake.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t size) {
  using namespace simco::test;
  if (allocations_left != kUnlimited && --allocations_left < 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
