// Each stream is among those that are ready once at most, and leaves them when it has sent all.
#include "simco/net/quic/send_queue.hpp"

#include <algorithm>
#include <utility>

namespace simco::net::quic {

void SendQueue::add(std::int64_t id) {
  outputs_.emplace_back().id = id;
  ++open_;
}

std::span<std::byte> SendQueue::allocate(StreamNumber stream, std::size_t size) {
  auto& output = outputs_.at(stream);
  const auto room = output.octets.allocate(size);
  if (!std::exchange(output.touched, true)) touched_.push_back(stream);
  queued_ += size;
  kept_ += size;
  return room;
}

void SendQueue::commit() {
  for (const auto number : touched_) {
    outputs_[number].touched = false;
    outputs_[number].octets.commit();
    make_ready(number);
  }
  touched_.clear();
}

void SendQueue::finish() {
  commit();
  finishing_ = true;
  for (StreamNumber number = 0; number < outputs_.size(); ++number) {
    outputs_[number].fin_due = true;
    make_ready(number);
  }
}

std::size_t SendQueue::held() const {
  std::size_t result = 0;
  for (const auto& output : outputs_) result += output.octets.held();
  return result;
}

void SendQueue::make_ready(StreamNumber number) {
  auto& output = outputs_[number];
  if (output.blocked || std::exchange(output.ready, true)) return;
  ready_.insert(output.octets.mid_message() ? ready_.begin() : ready_.end(), number);
}

SendQueue::Piece SendQueue::next() const {
  if (ready_.empty()) return {};
  const auto& output = outputs_[ready_.front()];
  const auto octets = output.octets.next();
  const bool all = octets.size() == output.octets.unsent();
  return {output.id, octets, output.fin_due && all, ready_.size() == 1 && all};
}

void SendQueue::take(std::size_t count, bool fin) {
  auto& output = outputs_[ready_.front()];
  output.octets.sent(count);
  queued_ -= count;
  if (fin) output.fin_due = false;
  if (output.octets.unsent() == 0 && !output.fin_due) return pop();
  // Another stream's turn, unless that would leave a message unfinished.
  if (count != 0 && !output.octets.mid_message()) {
    std::ranges::rotate(ready_, ready_.begin() + 1);
  }
}

void SendQueue::block() {
  outputs_[ready_.front()].blocked = true;
  ++blocked_;
  pop();
}

// The peer may have opened its windows; if not, the library says so again.
void SendQueue::unblock() {
  if (std::exchange(blocked_, 0) == 0) return;
  for (StreamNumber number = 0; number < outputs_.size(); ++number) {
    if (std::exchange(outputs_[number].blocked, false)) make_ready(number);
  }
}

void SendQueue::pop() {
  outputs_[ready_.front()].ready = false;
  ready_.erase(ready_.begin());
}

SendQueue::Output* SendQueue::find(std::int64_t id) {
  const auto number = static_cast<std::size_t>(id >> 2);  // RFC 9000 2.1
  return number < outputs_.size() && outputs_[number].id == id ? &outputs_[number] : nullptr;
}

void SendQueue::acknowledged(std::int64_t id, std::uint64_t offset) {
  if (auto* const output = find(id)) kept_ -= output->octets.acknowledged(offset);
}

void SendQueue::closed(std::int64_t id) {
  auto* const output = find(id);
  if (output != nullptr && !std::exchange(output->closed, true)) --open_;
}

}  // namespace simco::net::quic
