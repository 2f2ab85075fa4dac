// Lets memory run out where a test wants it to.
#pragma once

namespace simco::test {

/// While one lives, the allocation after the next `allocations` by operator new fails with
/// std::bad_alloc, and so does each that follows; of the thread that made it. One at a time. Only
/// for programs that are linked with memory_shortage.cpp.
class MemoryShortage {
 public:
  explicit MemoryShortage(int allocations);
  MemoryShortage(const MemoryShortage&) = delete;
  MemoryShortage& operator=(const MemoryShortage&) = delete;
  ~MemoryShortage();
};

}  // namespace simco::test
