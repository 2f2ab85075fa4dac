// The reader of QUIC frames: the first octet is the form of the packet (bit 0) and the end that
// reads it (bit 1), the rest its frames. An accepted packet is accepted again, and has no other
// identifiers of the peer's in it; neither padding nor frames before it change that, nor the reason
// of a refusal.
#include <cstdint>
#include <vector>

#include "simco/net/quic/ngtcp2_guard.hpp"
#include "simco/wire/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace simco::net;
using namespace simco::net::quic;
using Octets = std::vector<std::byte>;

void check(const Octets& octets, PacketForm form, TlsSide side) {
  auto frames = octets;
  const auto refusal = guard(frames, form, side);
  SIMCO_ASSERT(frames.size() == octets.size());
  // A PING, a window and an identifier before them.
  Octets more = {std::byte{1}, std::byte{0x10}, std::byte{5}, std::byte{0x18},
                 std::byte{1}, std::byte{0},    std::byte{1}, std::byte{0xaa}};
  more.resize(more.size() + 16, std::byte{0xbb});
  const auto before = more.size();
  more.insert(more.end(), octets.begin(), octets.end());
  SIMCO_ASSERT(guard(more, form, side) == refusal && more[3] == std::byte{1});
  SIMCO_ASSERT(
      std::equal(frames.begin(), frames.end(), more.begin() + static_cast<std::ptrdiff_t>(before)));
  if (refusal) return;
  auto again = frames;
  SIMCO_ASSERT(!guard(again, form, side) && again == frames);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto octets = std::as_bytes(std::span(data, size).subspan(1));
  check({octets.begin(), octets.end()}, (data[0] & 1) != 0 ? PacketForm::kLong : PacketForm::kShort,
        (data[0] & 2) != 0 ? TlsSide::kAgent : TlsSide::kMiddlebox);
  return 0;
}
