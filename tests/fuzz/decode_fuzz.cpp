// Any octets: decoding ends with a message or an error, and a decoded message encodes to its own
// octets, up to the bits that the RFC reserves.
#include <cstdint>
#include <vector>

#include "simco/wire/codec.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace simco;
  const auto decoded = decode(std::as_bytes(std::span(data, size)));
  if (!decoded) {
    SIMCO_ASSERT(section6_step(decoded.error()) >= 1 && section6_step(decoded.error()) <= 5);
    return 0;
  }
  SIMCO_ASSERT(encoded_size(decoded->body) == size);
  std::vector<std::byte> again(size);
  ByteWriter out(again);
  SIMCO_ASSERT(encode(*decoded, out));
  const auto twice = decode(again);
  SIMCO_ASSERT(twice && *twice == *decoded);
  return 0;
}
