#include "simco/net/quic/farewells.hpp"

#include <bit>
#include <utility>

#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

void Farewells::keep(const std::vector<ConnectionId>& ids, std::vector<std::byte> packet,
                     Time now) {
  if (farewells_.size() == kFarewellsMax) forget_oldest();
  auto& farewell = farewells_.emplace_back(ids, std::move(packet), now + kFarewellTime);
  for (const auto& id : ids) by_id_.insert_or_assign(id, &farewell);
}

bool Farewells::knows(std::string_view id, Time now) {
  while (!farewells_.empty() && farewells_.front().until <= now) forget_oldest();
  return by_id_.contains(id);
}

std::span<const std::byte> Farewells::answer(std::string_view id, std::size_t size) {
  auto& farewell = *by_id_.find(id)->second;
  const bool due = std::has_single_bit(++farewell.heard);
  if (!due || farewell.packet.size() > 3 * size) return {};
  return farewell.packet;
}

void Farewells::forget_oldest() {
  auto& oldest = farewells_.front();
  for (const auto& id : oldest.ids) {
    const auto found = by_id_.find(id);
    if (found != by_id_.end() && found->second == &oldest) by_id_.erase(found);
  }
  farewells_.pop_front();
}

}  // namespace simco::net::quic
