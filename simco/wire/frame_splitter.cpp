#include "simco/wire/frame_splitter.hpp"

namespace simco {
namespace {
/// A buffer that grew beyond this is given back once its message is done, octets.
constexpr std::size_t kKeepCapacity = 4096;
}  // namespace

void FrameSplitter::forget() {
  received_ = 0;
  total_ = 0;
  held_.clear();
  if (held_.capacity() > kKeepCapacity) held_.shrink_to_fit();
}

std::size_t FrameSplitter::continue_message(std::span<const std::byte> octets) {
  std::size_t taken = 0;
  if (total_ == 0) {
    taken = std::min(kHeaderSize - received_, octets.size());
    hold(octets.first(taken));
    if (received_ < kHeaderSize) return taken;
    const Header header = read_header(std::span<const std::byte>(held_).first<kHeaderSize>());
    if ((fault_ = check_header(header))) return taken;
    total_ = kHeaderSize + header.length;
  }
  const auto rest = octets.subspan(taken);
  const std::size_t wanted = std::min(total_ - received_, rest.size());
  hold(rest.first(wanted));
  return taken + wanted;
}

}  // namespace simco
