// The reader of QUIC frames: the first octet is the form of the packet, the rest its frames. What
// is admitted stays so, and has no other identifiers of the peer's in it; neither padding nor
// frames before it change that.
#include <cstdint>
#include <vector>

#include "simco/net/quic/frames.hpp"
#include "simco/wire/assert.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace simco::net::quic;
using Octets = std::vector<std::byte>;

void check(const Octets& octets, PacketForm form) {
  auto frames = octets;
  if (!admit(frames, form)) return;
  SIMCO_ASSERT(frames.size() == octets.size());
  auto again = frames;
  SIMCO_ASSERT(admit(again, form) && again == frames);
  // A PING, a window and an identifier before them.
  Octets more = {std::byte{1}, std::byte{0x10}, std::byte{5}, std::byte{0x18},
                 std::byte{1}, std::byte{0},    std::byte{1}, std::byte{0xaa}};
  more.resize(more.size() + 16, std::byte{0xbb});
  const auto before = more.size();
  more.insert(more.end(), octets.begin(), octets.end());
  SIMCO_ASSERT(admit(more, form) && more[3] == std::byte{1});
  SIMCO_ASSERT(
      std::equal(frames.begin(), frames.end(), more.begin() + static_cast<std::ptrdiff_t>(before)));
  if (frames.empty()) return;
  spoil(frames);
  SIMCO_ASSERT(!admit(frames, form));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto octets = std::as_bytes(std::span(data, size).subspan(1));
  check({octets.begin(), octets.end()},
        (data[0] & 1) != 0 ? PacketForm::kLong : PacketForm::kShort);
  return 0;
}
