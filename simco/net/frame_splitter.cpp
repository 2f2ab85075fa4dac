#include "simco/net/frame_splitter.hpp"

#include "simco/net/limits.hpp"

namespace simco::net {

void FrameSplitter::forget() {
  received_ = 0;
  wanted_ = 0;
  whole_ = false;
  held_.clear();
  if (held_.capacity() > kKeepHeld) held_.shrink_to_fit();
}

std::size_t FrameSplitter::continue_message(std::span<const std::byte> octets) {
  const std::size_t look = std::max(wanted_ - received_, framer_->lookahead());
  const std::size_t taken = std::min(look, octets.size());
  hold(octets.first(taken));
  if (received_ < wanted_) return taken;
  // The held part of a cut message suffices for the framer.
  const auto size = framer_->size_of(held_);
  if (!size) {
    fault_ = size.error();
    return taken;
  }
  wanted_ = *size;
  whole_ = wanted_ <= received_;
  if (!whole_ || wanted_ == received_) return taken;
  // Octets that were only inspected belong to the next message.
  const std::size_t beyond = received_ - wanted_;
  held_.resize(std::min(held_.size(), wanted_));
  received_ = wanted_;
  return taken - beyond;
}

}  // namespace simco::net
