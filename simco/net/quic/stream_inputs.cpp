// Each turn delivers stream by stream, and gives the window back for what the user has taken.
#include "simco/net/quic/stream_inputs.hpp"

#include <algorithm>
#include <utility>

#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

void StreamInputs::add(StreamNumber stream, std::span<const std::byte> octets, bool fin) {
  auto& input = inputs_.at(stream);
  input.octets.insert(input.octets.end(), octets.begin(), octets.end());
  if (fin && !std::exchange(input.fin, true)) ++fins_;
  if (!std::exchange(input.waiting, true)) waiting_.push_back(stream);
}

void StreamInputs::start(const Framing& framing) {
  framer_ = &framing.framer;
  for (auto& input : inputs_) input.splitter.emplace(*framer_);
}

bool StreamInputs::set_hold_limit(std::size_t octets) {
  for (auto& input : inputs_) input.splitter->set_hold_limit(octets);
  return octets >= framer_->size_max();
}

void StreamInputs::deliver(ChannelState& user, Time now, const OnTaken& on_taken) {
  if (framer_ == nullptr || waiting_.empty() || user.paused()) return;
  while (!waiting_.empty() && !user.paused()) {
    const auto number = waiting_.front();
    auto& input = inputs_[number];
    if (const auto taken = deliver(number, user, now); taken != 0) on_taken(number, taken);
    forget_delivered(input);
    if (!input.octets.empty()) continue;  // paused
    input.waiting = false;
    waiting_.pop_front();
  }
  if (user.paused()) paused_at_ = now;
  user.input_done(unfinished(now, user.paused()));
}

std::optional<std::chrono::nanoseconds> StreamInputs::unfinished(Time now, bool paused) const {
  // Their continuation may have come, and waits.
  if (mid_message_ == 0 || paused) return std::nullopt;
  auto first = now;
  for (const auto& input : inputs_) {
    if (input.splitter->mid_message()) first = std::min(first, input.heard);
  }
  return now - first;
}

std::size_t StreamInputs::deliver(StreamNumber number, ChannelState& user, Time now) {
  auto& input = inputs_[number];
  const auto octets = std::span<const std::byte>(input.octets).subspan(input.from);
  std::size_t rest = 0;
  if (user.takes_input()) {
    const bool was_mid = input.splitter->mid_message();
    const Delivery delivery{StreamId{static_cast<std::uint16_t>(number)}};
    const auto error = input.splitter->feed(octets, [&](std::span<const std::byte> message) {
      return user.deliver(message, delivery);
    });
    if (user.takes_input()) rest = input.splitter->unread();
    if (error) user.malformed(*error);
    mid_message_ += std::size_t{input.splitter->mid_message()};
    mid_message_ -= std::size_t{was_mid};
    if (input.splitter->mid_message()) input.heard = now;
  }
  const auto taken = octets.size() - rest;
  input.from += taken;
  // Octets in the splitter have not been taken: parts of messages on many streams would add up.
  const auto held = user.takes_input() ? input.splitter->held() : 0;
  return taken + std::exchange(input.held, held) - held;
}

// Delivered messages no longer count against the window, so they must not stay.
void StreamInputs::forget_delivered(Input& input) {
  if (input.from * 2 < input.octets.size()) return;
  input.octets.erase(input.octets.begin(),
                     input.octets.begin() + static_cast<std::ptrdiff_t>(input.from));
  input.from = 0;
  if (input.octets.empty() && input.octets.capacity() > kKeptInput) input.octets.shrink_to_fit();
}

void StreamInputs::resume(Time now) {
  const auto pause = now - paused_at_;
  for (auto& input : inputs_) input.heard += pause;
}

}  // namespace simco::net::quic
