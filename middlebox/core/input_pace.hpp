// Peers that send without end: how much of a turn the input of one connection may take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "middlebox/limits.hpp"
#include "simco/wire/messages.hpp"

namespace simco::middlebox {

/// Knows whether the input is paused, and when to look at the clock.
class InputPace {
 public:
  /// True if the clock must be read after this message: it may have taken long, or is one of many.
  bool must_look(std::span<const std::byte> message) {
    const auto type = static_cast<SubType>(message[1]);
    const bool heavy = type == SubType::kPrl || type == SubType::kPdr;
    return heavy || ++messages_ % kMessagesPerLook == 0;
  }
  void pause() { paused_ = true; }
  bool paused() const { return paused_; }
  void resume() { paused_ = false; }

 private:
  std::uint32_t messages_ = 0;
  bool paused_ = false;
};

}  // namespace simco::middlebox
