#include "loadgen/replay/plan.hpp"

#include <unistd.h>

#include "loadgen/replay/sockets.hpp"

namespace simco::loadgen::replay {

Plan::Plan(std::size_t messages, std::size_t octets)
    : octets_(sizeof(replay_plan) + messages * sizeof(replay_message) + octets),
      texts_at_(octets_.size() - octets) {}

Plan Plan::read(int device) {
  Plan plan;
  plan.octets_.resize(sizeof(replay_plan));
  const auto fill = [&](std::size_t from) {
    while (from < plan.octets_.size()) {
      const auto got = ::pread(device, &plan.octets_[from], plan.octets_.size() - from,
                               static_cast<off_t>(from));
      if (must(static_cast<int>(got), "cannot read the plan") == 0) return;
      from += static_cast<std::size_t>(got);
    }
  };
  fill(0);
  plan.octets_.resize(sizeof(replay_plan) + plan.is().count * sizeof(replay_message));
  fill(sizeof(replay_plan));
  return plan;
}

std::span<replay_message> Plan::messages() {
  return {reinterpret_cast<replay_message*>(octets_.data() + sizeof(replay_plan)), is().count};
}

replay_message& Plan::add() {
  ++is().count;
  return messages().back();
}

std::span<std::byte> Plan::text(std::size_t size) {
  const auto at = texts_at_ + is().octets;
  is().octets += static_cast<std::uint32_t>(size);
  return std::span(octets_).subspan(at, size);
}

}  // namespace simco::loadgen::replay
