#include "tests/support/memory_channel.hpp"

#include <algorithm>

#include "simco/net/error.hpp"

namespace simco::test {

using boost::system::error_code;
using net::Flow;

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
      latest_arrival_(scheduler.now()) {
  SIMCO_ASSERT(path_.streams > 0 && path_.window > 0 && path_.segment > 0);
  if (in_stream()) path_.streams = 1;
  last_arrival_.assign(path_.streams, scheduler.now());
}

MemoryChannel::~MemoryChannel() {
  if (!over_ && !peer_knows_) tell_peer(Packet::Kind::kReset, reset_reason());
}

void MemoryChannel::start(net::ChannelHandler& handler) {
  SIMCO_ASSERT(handler_ == nullptr);
  handler_ = &handler;
  if (!inbox_.empty()) later([self = shared_from_this()] { self->read(); });
}

void MemoryChannel::detach() {
  handler_ = nullptr;
  ended({});
}

bool MemoryChannel::fails() { return ++calls_ == fail_at_; }

// --- Output ------------------------------------------------------------------------------------

std::span<std::byte> MemoryChannel::allocate(std::size_t size, net::Delivery delivery,
                                             std::size_t limit) {
  if (closing_ || over_ || size > limit - std::min(limit, queued_)) return {};
  SIMCO_ASSERT(delivery.stream.value < path_.streams);
  queued_ += size;
  if (!in_stream() || out_.empty()) out_.push_back({Packet::Kind::kData, delivery, {}, {}});
  auto& octets = out_.back().octets;
  const std::size_t before = octets.size();
  octets.resize(before + size);
  return std::span{octets}.subspan(before);
}

void MemoryChannel::flush() {
  if (over_ || end_sent_ || blocked_) return;
  if (queued_ != 0) {
    // Reported from the scheduler, because the caller is in the middle of its work.
    if (fails()) broken_ = fail_reason_;
    if (broken_) {
      return later([self = shared_from_this()] { self->ended(*self->broken_); });
    }
  }
  while (!out_.empty() && !blocked_) in_stream() ? send_segment() : send_message();
  if (closing_ && out_.empty()) end_output();
}

void MemoryChannel::send_segment() {
  auto& octets = out_.front().octets;
  const std::size_t room = path_.window - std::min(path_.window, outstanding_);
  const std::size_t size = std::min({room, path_.segment, octets.size()});
  if (size == 0) {
    blocked_ = true;
    return;
  }
  if (size == octets.size()) {
    transmit(std::move(out_.front()));
    out_.pop_front();
    return;
  }
  const auto end = octets.begin() + static_cast<std::ptrdiff_t>(size);
  transmit({Packet::Kind::kData, {}, {octets.begin(), end}, {}});
  octets.erase(octets.begin(), end);
}

void MemoryChannel::send_message() {
  const std::size_t size = out_.front().octets.size();
  if (outstanding_ != 0 && outstanding_ + size > path_.window) {
    blocked_ = true;
    return;
  }
  transmit(std::move(out_.front()));
  out_.pop_front();
}

void MemoryChannel::transmit(Packet packet) {
  queued_ -= packet.octets.size();
  outstanding_ += packet.octets.size();
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
  if (queued_ == 0 && handler_ != nullptr && !closing_) handler_->on_output_drained();
}

void MemoryChannel::set_window(std::size_t octets) {
  SIMCO_ASSERT(octets > 0);
  const auto peer = peer_.lock();
  if (!peer) return;
  peer->path_.window = octets;
  peer->taken(0);
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
  unread_ += packet.octets.size();
  inbox_.push_back(std::move(packet));
  read();
}

void MemoryChannel::read() {
  const auto self = shared_from_this();
  if (closing_) return drop_input();
  if (over_ || paused_ || handler_ == nullptr || inbox_.empty()) return;
  if (fails()) return ended(fail_reason_);
  const bool told = !input_over_;
  const auto holds_data = [&] {
    return !inbox_.empty() && inbox_.front().kind == Packet::Kind::kData;
  };
  const bool data = holds_data();
  while (holds_data() && !paused_ && !closing_) read_data();
  if (data && told && handler_ != nullptr) handler_->on_input_done(splitter_.mid_message());
  if (closing_) return drop_input();
  if (!inbox_.empty() && !holds_data() && !paused_) read_end();
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
  unread_ -= packet.octets.size();
  const std::size_t size = packet.octets.size();
  const std::size_t unread_before = unread_;
  if (in_stream()) {
    take_octets(std::move(packet));
  } else {
    take_message(packet);
  }
  // What was put back is not taken.
  if (const auto peer = peer_.lock()) peer->taken(size - (unread_ - unread_before));
}

void MemoryChannel::take_octets(Packet packet) {
  if (input_over_) return;
  const auto error = splitter_.feed(packet.octets, [&](std::span<const std::byte> message) {
    apply(handler_->on_message(message, {}));
    return !paused_ && !input_over_ && handler_ != nullptr;
  });
  if (error && !input_over_) malformed(*error);
  if (!paused_ || input_over_ || splitter_.unread() == 0) return;
  const auto read = static_cast<std::ptrdiff_t>(packet.octets.size() - splitter_.unread());
  packet.octets.erase(packet.octets.begin(), packet.octets.begin() + read);
  unread_ += packet.octets.size();
  inbox_.push_front(std::move(packet));
}

// A user message is exactly one message.
void MemoryChannel::take_message(const Packet& packet) {
  if (input_over_) return;
  const std::size_t size = packet.octets.size();
  auto held = std::span<const std::byte>(packet.octets);
  if (size > path_.segment) held = held.first(std::min(size, hold_limit_));
  if (size > kMessageSizeMax) return malformed(DecodeError::kImpossibleLength);
  if (size < kHeaderSize) return malformed(DecodeError::kTruncated);
  const Header header = read_header(held.first<kHeaderSize>());
  if (const auto error = check_header(header)) return malformed(*error);
  const std::size_t wanted = kHeaderSize + header.length;
  if (wanted > size) return malformed(DecodeError::kTruncated);
  if (wanted < size) return malformed(DecodeError::kLengthMismatch);
  apply(handler_->on_message(held, packet.delivery));
}

void MemoryChannel::apply(Flow flow) {
  if (flow == Flow::kStop) input_over_ = true;
  if (flow == Flow::kPause) paused_ = true;
}

void MemoryChannel::malformed(DecodeError error) {
  input_over_ = true;
  if (handler_ != nullptr) handler_->on_malformed(error);
}

// Closing: the peer's data is of no interest any more, its end is.
void MemoryChannel::drop_input() {
  while (!inbox_.empty() && !over_) {
    const Packet packet = std::move(inbox_.front());
    inbox_.pop_front();
    unread_ -= packet.octets.size();
    if (packet.kind != Packet::Kind::kData) {
      peer_knows_ = true;
      return ended({});
    }
    if (const auto peer = peer_.lock()) peer->taken(packet.octets.size());
  }
}

void MemoryChannel::resume_input() {
  if (!paused_) return;
  paused_ = false;
  // Never from inside a delivery or a send.
  later([self = shared_from_this()] {
    if (!self->paused_) self->read();
  });
}

void MemoryChannel::set_hold_limit(std::size_t octets) {
  hold_limit_ = std::max(octets, kHeaderSize);
  splitter_.set_hold_limit(octets);
}

// --- The end -----------------------------------------------------------------------------------

void MemoryChannel::close() {
  if (closing_ || over_) return;
  closing_ = true;
  input_over_ = true;
  paused_ = false;
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

void MemoryChannel::fail_at(std::size_t call, const error_code& reason) {
  fail_at_ = call == 0 ? 0 : calls_ + call;
  fail_reason_ = reason;
}

void MemoryChannel::ended(const error_code& reason) {
  if (!std::exchange(over_, true) && !peer_knows_) {
    tell_peer(Packet::Kind::kReset, reset_reason());
  }
  input_over_ = true;
  inbox_.clear();
  unread_ = 0;
  if (handler_ != nullptr) std::exchange(handler_, nullptr)->on_closed(reason);
}

}  // namespace simco::test
