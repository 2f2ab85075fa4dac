// The connections of a run: whose turn it is, and how a lost one is opened again.
#include "loadgen/client_slots.hpp"

#include <algorithm>
#include <utility>

namespace simco::loadgen {
namespace {

void add(Housekeeping& sum, const Housekeeping& part) {
  sum.done += part.done;
  sum.refused += part.refused;
}

void add(std::vector<Tally>& sum, const std::vector<Tally>& part) {
  if (sum.size() < part.size()) sum.resize(part.size());
  for (std::size_t i = 0; i < part.size(); ++i) {
    sum[i] = {part[i].name, sum[i].count + part[i].count};
  }
}

}  // namespace

ClientSlots::ClientSlots(boost::asio::io_context& io, std::uint32_t connections, std::uint64_t seed,
                         Make make)
    : io_(io),
      make_(std::move(make)),
      random_(static_cast<std::minstd_rand::result_type>(seed)),
      slots_(connections) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].number = i;
    slots_[i].client = make_(i);
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

std::vector<Sample> ClientSlots::take_unanswered(ClientSlot& slot) {
  std::vector<Sample> unanswered(slot.waiting.begin(), slot.waiting.end());
  for (const auto& [key, sample] : slot.in_flight) unanswered.push_back(sample);
  std::ranges::sort(unanswered, {}, &Sample::index);
  slot.in_flight.clear();
  slot.waiting.clear();
  slot.unsent.clear();
  slot.order.clear();
  slot.queued_total = 0;
  return unanswered;
}

// The lost client may be calling: its successor takes its place later.
void ClientSlots::reopen(ClientSlot& slot, std::function<bool()> wanted) {
  std::uniform_real_distribution<double> part(0.5, 1);
  const std::chrono::duration<double, std::nano> pause = slot.next_pause * part(random_);
  slot.next_pause = std::min<std::chrono::nanoseconds>(2 * slot.next_pause, kReopenPauseMax);
  slot.pause.emplace(io_, std::chrono::duration_cast<std::chrono::nanoseconds>(pause));
  slot.pause->async_wait([this, &slot, wanted = std::move(wanted)](const auto& error) {
    if (error || !wanted()) return;
    index_.erase(slot.client.get());
    add(slot.past, slot.client->housekeeping());
    add(slot.past_tallies, slot.client->tallies());
    slot.client = make_(slot.number);
    index_.emplace(slot.client.get(), slot.number);
    slot.client->open();
  });
}

void ClientSlots::mark_up(ClientSlot& slot) {
  slot.down = false;
  slot.next_pause = kReopenPauseFirst;
}

void ClientSlots::mark_ready(Client& client) {
  of(client).ready = true;
  ++ready_;
}

bool ClientSlots::all_down() const { return std::ranges::all_of(slots_, &ClientSlot::down); }

Housekeeping ClientSlots::housekeeping() const {
  Housekeeping sum;
  for (const ClientSlot& slot : slots_) {
    add(sum, slot.past);
    add(sum, slot.client->housekeeping());
  }
  return sum;
}

std::vector<Tally> ClientSlots::tallies() const {
  std::vector<Tally> sum;
  for (const ClientSlot& slot : slots_) {
    add(sum, slot.past_tallies);
    add(sum, slot.client->tallies());
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
