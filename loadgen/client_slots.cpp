#include "loadgen/client_slots.hpp"

#include <algorithm>

namespace simco::loadgen {

ClientSlots::ClientSlots(std::uint32_t connections,
                         const std::function<std::unique_ptr<Client>(std::size_t number)>& make)
    : slots_(connections) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].number = i;
    slots_[i].client = make(i);
    index_.emplace(slots_[i].client.get(), i);
  }
}

ClientSlot& ClientSlots::for_transaction(std::uint64_t index) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    ClientSlot& slot = slots_[(index + i) % slots_.size()];
    if (!slot.down) return slot;
  }
  return slots_[index % slots_.size()];
}

void ClientSlots::renew(ClientSlot& slot, std::unique_ptr<Client> client) {
  index_.erase(slot.client.get());
  slot.client = std::move(client);
  index_.emplace(slot.client.get(), slot.number);
}

void ClientSlots::mark_ready(Client& client) {
  of(client).ready = true;
  ++ready_;
}

bool ClientSlots::all_down() const { return std::ranges::all_of(slots_, &ClientSlot::down); }

Housekeeping ClientSlots::housekeeping() const {
  Housekeeping sum;
  for (const ClientSlot& slot : slots_) {
    const Housekeeping part = slot.client->housekeeping();
    sum.done += part.done;
    sum.refused += part.refused;
  }
  return sum;
}

std::vector<Tally> ClientSlots::tallies() const {
  std::vector<Tally> sum;
  for (const ClientSlot& slot : slots_) {
    const auto part = slot.client->tallies();
    sum.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      sum[i] = {part[i].name, sum[i].count + part[i].count};
    }
  }
  return sum;
}

net::TransportStatistics ClientSlots::transport_statistics() const {
  net::TransportStatistics result;
  std::size_t connections = 0;
  for (const ClientSlot& slot : slots_) {
    if (slot.client->channel() == nullptr) continue;
    const auto figures = slot.client->channel()->statistics();
    if (figures.empty()) continue;
    ++connections;
    result.resize(figures.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
      const double sum = result[i].value;
      result[i] = figures[i];
      result[i].value += sum;
    }
  }
  for (net::TransportFigure& figure : result) {
    if (!figure.total) figure.value /= static_cast<double>(connections);
  }
  return result;
}

}  // namespace simco::loadgen
