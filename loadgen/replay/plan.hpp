// The plan of a run in one piece, as the kernel takes and returns it (replay.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "replay.h"

namespace simco::loadgen::replay {

class Plan {
 public:
  /// For so many messages, with `octets` octets for all of their texts.
  Plan(std::size_t messages, std::size_t octets);
  /// Reads the plan of `device`, with what has happened; without messages if it has none.
  static Plan read(int device);

  replay_plan& is() { return *reinterpret_cast<replay_plan*>(octets_.data()); }
  std::span<replay_message> messages();
  /// All of it.
  std::span<const std::byte> octets() { return std::span(octets_).first(texts_at_ + used()); }

  /// Adds a message; its texts come next.
  replay_message& add();
  /// Adds a text, `size` octets, and returns room for it.
  std::span<std::byte> text(std::size_t size);
  /// Octets of texts so far.
  std::uint32_t used() { return is().octets; }

 private:
  Plan() = default;
  std::vector<std::byte> octets_;
  std::size_t texts_at_ = 0;
};

}  // namespace simco::loadgen::replay
