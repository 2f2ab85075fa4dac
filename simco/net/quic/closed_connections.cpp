#include "simco/net/quic/closed_connections.hpp"

#include <bit>
#include <utility>

#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

void ClosedConnections::keep(const std::vector<ConnectionId>& ids, std::vector<std::byte> packet,
                             Time now) {
  if (closed_.size() == kClosedMax) forget_oldest();
  auto& closed = closed_.emplace_back(ids, std::move(packet), now + kClosedTime);
  for (const auto& id : ids) by_id_.insert_or_assign(id, &closed);
}

bool ClosedConnections::knows(std::string_view id, Time now) {
  while (!closed_.empty() && closed_.front().until <= now) forget_oldest();
  return by_id_.contains(id);
}

std::span<const std::byte> ClosedConnections::answer(std::string_view id, std::size_t size) {
  auto& closed = *by_id_.find(id)->second;
  const bool due = std::has_single_bit(++closed.heard);
  if (!due || closed.packet.size() > 3 * size) return {};
  return closed.packet;
}

void ClosedConnections::forget_oldest() {
  auto& oldest = closed_.front();
  for (const auto& id : oldest.ids) {
    const auto found = by_id_.find(id);
    if (found != by_id_.end() && found->second == &oldest) by_id_.erase(found);
  }
  closed_.pop_front();
}

}  // namespace simco::net::quic
