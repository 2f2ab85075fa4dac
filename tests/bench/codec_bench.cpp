// Cost of decoding a PER request and encoding its reply, and proof that neither allocates.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <new>

#include "loadgen/per/per_client.hpp"
#include "simco/wire/codec.hpp"

namespace {
std::size_t allocations = 0;
}  // namespace

// g++ takes the inlined free() below for a mistake.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace simco;

void report_allocations(benchmark::State& state, std::size_t before) {
  state.counters["allocations"] = static_cast<double>(allocations - before);
}

void BM_DecodePerRequest(benchmark::State& state) {
  std::array<std::byte, 128> buffer{};
  ByteWriter out(buffer);
  encode({7}, loadgen::call_pinhole(4711), out);
  const std::span<const std::byte> octets = std::span(buffer).first(out.written());
  const std::size_t before = allocations;
  for (auto _ : state) {
    auto message = decode(octets);
    benchmark::DoNotOptimize(message);
  }
  report_allocations(state, before);
}
BENCHMARK(BM_DecodePerRequest);

void BM_EncodePerReply(benchmark::State& state) {
  const PerRequest request = loadgen::call_pinhole(4711);
  const Body reply = PerReply{{1}, {1}, {120}, request.internal, request.external};
  std::array<std::byte, 128> buffer{};
  const std::size_t before = allocations;
  for (auto _ : state) {
    ByteWriter out(buffer);
    encode({7}, reply, out);
    benchmark::DoNotOptimize(buffer);
  }
  report_allocations(state, before);
}
BENCHMARK(BM_EncodePerReply);

}  // namespace
