#include "tests/support/memory_channel.hpp"

#include <algorithm>

#include "simco/net/error.hpp"

namespace simco::test {

using boost::system::error_code;

MemoryChannel::Pair MemoryChannel::make_pair(Scheduler& scheduler, const MemoryPath& path,
                                             std::string first_address,
                                             std::string second_address) {
  const auto make = [&](std::string peer) {
    return std::shared_ptr<MemoryChannel>(new MemoryChannel(scheduler, path, std::move(peer)));
  };
  Pair pair{make(std::move(second_address)), make(std::move(first_address))};
  pair.first->peer_ = pair.second;
  pair.second->peer_ = pair.first;
  return pair;
}

MemoryChannel::MemoryChannel(Scheduler& scheduler, const MemoryPath& path, std::string peer_address)
    : scheduler_(scheduler),
      path_(path),
      peer_address_(std::move(peer_address)),
      out_(path.transport == net::Transport::kTcp ? net::OutputQueue::Boundaries::kForget
                                                  : net::OutputQueue::Boundaries::kKeep),
      latest_arrival_(scheduler.now()) {
  SIMCO_ASSERT(path_.streams > 0 && path_.window > 0 && path_.segment > 0);
  if (in_stream()) path_.streams = 1;
  last_arrival_.assign(path_.streams, scheduler.now());
}

MemoryChannel::~MemoryChannel() {
  if (!over_ && !peer_knows_) tell_peer(Packet::Kind::kReset, reset_reason());
}

void MemoryChannel::start(net::ChannelHandler& handler, const net::Framing& framing) {
  state_.start(handler);
  started_ = true;
  splitter_.emplace(framing.framer);
  messages_.emplace(framing.framer);
  set_hold_limit(framing.hold_limit);
  if (!inbox_.empty()) later([self = shared_from_this()] { self->read(); });
}

void MemoryChannel::detach() {
  state_.detach();
  ended({});
}

// --- Output ------------------------------------------------------------------------------------

std::span<std::byte> MemoryChannel::allocate(std::size_t size, net::Delivery delivery,
                                             std::size_t limit) {
  if (state_.closing() || over_) return {};
  SIMCO_ASSERT(delivery.stream.value < path_.streams);
  return out_.allocate(size, delivery, limit);
}

void MemoryChannel::flush() {
  if (over_ || end_sent_ || blocked_) return;
  // Reported from the scheduler, because the caller is in the middle of its work.
  if (broken_ && !out_.empty()) {
    return later([self = shared_from_this()] { self->ended(*self->broken_); });
  }
  while (!out_.empty() && !blocked_) in_stream() ? send_segment() : send_message();
  out_.compact();
  if (state_.closing() && out_.empty()) end_output();
}

void MemoryChannel::send_segment() {
  const std::size_t room = path_.window - std::min(path_.window, outstanding_);
  const std::size_t size = std::min({room, path_.segment, out_.size()});
  if (size == 0) {
    blocked_ = true;
    return;
  }
  transmit(out_.octets().first(size), {});
  out_.take(size);
}

void MemoryChannel::send_message() {
  const auto message = out_.front();
  if (outstanding_ != 0 && outstanding_ + message.octets.size() > path_.window) {
    blocked_ = true;
    return;
  }
  transmit(message.octets, message.delivery);
  out_.pop();
}

void MemoryChannel::transmit(std::span<const std::byte> octets, net::Delivery delivery) {
  Packet packet{Packet::Kind::kData, delivery, {octets.begin(), octets.end()}, {}};
  outstanding_ += octets.size();
  auto when = scheduler_.now() + (path_.delay ? path_.delay() : Instant::duration{});
  if (!packet.delivery.unordered) {
    auto& last = last_arrival_[packet.delivery.stream.value];
    when = last = std::max(when, last);
  }
  latest_arrival_ = std::max(latest_arrival_, when);
  scheduler_.at(when, [peer = peer_, packet = std::move(packet)]() mutable {
    if (const auto end = peer.lock()) end->arrive(std::move(packet));
  });
}

// Behind everything that is under way.
void MemoryChannel::tell_peer(Packet::Kind kind, const error_code& reason) {
  const auto delay = path_.delay ? path_.delay() : Instant::duration{};
  scheduler_.at(std::max(latest_arrival_, scheduler_.now() + delay), [peer = peer_, kind, reason] {
    if (const auto end = peer.lock()) end->arrive({kind, {}, {}, reason});
  });
}

error_code MemoryChannel::reset_reason() const {
  if (in_stream()) return boost::asio::error::connection_reset;
  return net::NetError::kAssociationAborted;
}

void MemoryChannel::end_output() {
  if (std::exchange(end_sent_, true)) return;
  tell_peer(Packet::Kind::kEnd, {});
}

void MemoryChannel::taken(std::size_t octets) {
  outstanding_ -= std::min(outstanding_, octets);
  if (!blocked_ || std::exchange(unblocking_, true)) return;
  const auto delay = path_.delay ? path_.delay() : Instant::duration{};
  scheduler_.at(scheduler_.now() + delay, [self = shared_from_this()] { self->unblock(); });
}

void MemoryChannel::unblock() {
  unblocking_ = false;
  if (over_) return;
  blocked_ = false;
  flush();
  if (out_.empty()) state_.output_drained();
}

// --- Input -------------------------------------------------------------------------------------

void MemoryChannel::arrive(Packet packet) {
  if (over_) return;
  const bool cut = broken_.has_value() && packet.kind == Packet::Kind::kData;
  if (cut) return;
  if (packet.kind == Packet::Kind::kReset) {
    broken_ = packet.reason;
    peer_knows_ = true;
  }
  inbox_.push_back(std::move(packet));
  read();
}

void MemoryChannel::read() {
  const auto self = shared_from_this();
  if (state_.closing()) return drop_input();
  if (over_ || state_.paused() || !started_ || inbox_.empty()) return;
  const bool told = state_.takes_input();
  const auto holds_data = [&] {
    return !inbox_.empty() && inbox_.front().kind == Packet::Kind::kData;
  };
  const bool data = holds_data();
  while (holds_data() && !state_.paused() && !state_.closing()) read_data();
  if (data && told) state_.input_done(splitter_->mid_message());
  if (state_.closing()) return drop_input();
  if (!inbox_.empty() && !holds_data() && !state_.paused()) read_end();
}

void MemoryChannel::read_end() {
  const Packet packet = std::move(inbox_.front());
  if (packet.kind == Packet::Kind::kReset) return ended(packet.reason);
  // The peer is done, which interrupts the session (7.6); over TCP what is queued may still go.
  if (in_stream()) flush();
  end_output();
  peer_knows_ = true;
  ended({});
}

void MemoryChannel::read_data() {
  Packet packet = std::move(inbox_.front());
  inbox_.pop_front();
  std::size_t taken = packet.octets.size();
  if (in_stream()) {
    taken -= take_octets(std::move(packet));
  } else {
    take_message(packet);
  }
  if (const auto peer = peer_.lock()) peer->taken(taken);
}

std::size_t MemoryChannel::take_octets(Packet packet) {
  if (!state_.takes_input()) return 0;
  const auto error = splitter_->feed(packet.octets, [&](std::span<const std::byte> message) {
    return state_.deliver(message, {});
  });
  if (error) state_.malformed(*error);
  if (!state_.takes_input() || splitter_->unread() == 0) return 0;
  const auto read = static_cast<std::ptrdiff_t>(packet.octets.size() - splitter_->unread());
  packet.octets.erase(packet.octets.begin(), packet.octets.begin() + read);
  const std::size_t rest = packet.octets.size();
  inbox_.push_front(std::move(packet));
  return rest;
}

void MemoryChannel::take_message(const Packet& packet) {
  auto octets = std::span<const std::byte>(packet.octets);
  std::optional<net::FramingError> error;
  do {
    if (!state_.takes_input()) return;
    const auto piece = octets.first(std::min(path_.segment, octets.size()));
    octets = octets.subspan(piece.size());
    error = messages_->feed(piece, octets.empty(), [&](std::span<const std::byte> message) {
      state_.deliver(message, packet.delivery);
    });
  } while (!error && !octets.empty());
  if (error) state_.malformed(*error);
}

// Closing: the peer's data is of no interest any more, its end is.
void MemoryChannel::drop_input() {
  while (!inbox_.empty() && !over_) {
    const Packet packet = std::move(inbox_.front());
    inbox_.pop_front();
    if (packet.kind != Packet::Kind::kData) {
      peer_knows_ = true;
      return ended({});
    }
    if (const auto peer = peer_.lock()) peer->taken(packet.octets.size());
  }
}

void MemoryChannel::resume_input() {
  if (!state_.resume()) return;
  // Never from inside a delivery or a send.
  later([self = shared_from_this()] {
    if (!self->state_.paused()) self->read();
  });
}

void MemoryChannel::set_hold_limit(std::size_t octets) {
  splitter_->set_hold_limit(octets);
  messages_->set_hold_limit(octets);
}

// --- The end -----------------------------------------------------------------------------------

void MemoryChannel::close() {
  if (over_ || !state_.begin_close()) return;
  state_.resume();
  scheduler_.at(scheduler_.now() + net::kCloseTimeout,
                [self = shared_from_this()] { self->ended({}); });
  flush();
  if (!inbox_.empty()) later([self = shared_from_this()] { self->read(); });
}

void MemoryChannel::cut(const error_code& reason) {
  for (const auto& end : {shared_from_this(), peer_.lock()}) {
    if (!end || end->over_) continue;
    end->broken_ = reason;
    end->peer_knows_ = true;
    end->later([end, reason] { end->arrive({Packet::Kind::kReset, {}, {}, reason}); });
  }
}

void MemoryChannel::ended(const error_code& reason) {
  if (!std::exchange(over_, true) && !peer_knows_) {
    tell_peer(Packet::Kind::kReset, reset_reason());
  }
  inbox_.clear();
  state_.ended(reason);
}

}  // namespace simco::test
