// Input is delivered and output written after the packets of a turn; a timer drives what is due
// later. The end of all streams is the peer's goodbye.
#include "simco/net/quic/channel.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <new>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/quic/endpoint.hpp"
#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

using boost::system::error_code;

Channel::Channel(std::shared_ptr<Endpoint> endpoint, OnUp on_up)
    : endpoint_(std::move(endpoint)),
      on_up_(std::move(on_up)),
      executor_(endpoint_->get_executor()),
      timer_(executor_),
      close_timer_(executor_) {}

Channel::~Channel() {
  if (!endpoint_) return;
  if (!connection_) {
    endpoint_->leave(*this, std::nullopt);
    return;
  }
  connection_->end(Goodbye::kDropped, Endpoint::now());
  endpoint_->leave(*this, connection_->farewell());
  try {
    endpoint_->flush();
  } catch (const std::bad_alloc&) {
    // It leaves with what another connection sends.
  }
}

void Channel::begin(const std::shared_ptr<const Credentials>& credentials,
                    const QuicOptions& options, const Path& path, const Connection::Call* call,
                    const Gate::Welcome* welcome) {
  inputs_.resize(options.streams);
  peer_ = {path.remote, path.remote_port};
  Connection::User& user = *this;
  connection_ = std::make_unique<Connection>(user, credentials, options, way_of(path), call,
                                             welcome, Endpoint::now());
}

Connection::Way Channel::way_of(const Path& path) const {
  const auto& bound = endpoint_->local();
  return {{path.local.is_unspecified() ? bound : path.local, endpoint_->local_port()},
          {path.remote, path.remote_port}};
}

// --- Called by the connection --------------------------------------------------------------------

void Channel::on_id(const ConnectionId& id) {
  ids_.push_back(id);
  endpoint_->add(id, *this);
}

void Channel::on_id_retired(const ConnectionId& id) {
  std::erase(ids_, id);
  endpoint_->remove(id, *this);
}

ResetToken Channel::reset_token(const ConnectionId& id) { return endpoint_->reset_token(id); }

void Channel::on_output(const Connection::Way& way, std::span<const std::byte> packet) {
  peer_ = way.remote;
  endpoint_->send({way.remote.address(), way.remote.port(), way.local.address()}, packet);
}

void Channel::on_input(StreamNumber stream, std::span<const std::byte> octets, bool fin) {
  auto& input = inputs_.at(stream);
  input.octets.insert(input.octets.end(), octets.begin(), octets.end());
  if (fin && !std::exchange(input.fin, true)) ++fins_;
  if (!std::exchange(input.waiting, true)) waiting_.push_back(stream);
}

// --- Turns ---------------------------------------------------------------------------------------

void Channel::receive(const Path& path, std::span<const std::byte> packet) {
  if (connection_) connection_->receive(way_of(path), packet, Endpoint::now());
}

void Channel::turn() {
  heard_ = false;
  if (!connection_) return;
  const auto self = shared_from_this();
  if (!connection_->up() && !connection_->over()) connection_->write(Endpoint::now());
  tell_up();
  deliver();
  write();
}

void Channel::tell_up() {
  if (!connection_ || !connection_->up() || !on_up_) return;
  streams_ = connection_->streams();
  try {
    names_ = connection_->peer_names();
  } catch (const std::bad_alloc&) {
    return ended(boost::asio::error::no_memory);
  }
  std::exchange(on_up_, nullptr)({});
}

void Channel::write() {
  if (!connection_) return;
  const auto self = shared_from_this();
  // What is queued behind output that waits follows it without being told again.
  if (had_to_wait_) connection_->commit();
  connection_->write(Endpoint::now());
  endpoint_->flush();
  // Also when the peer has closed: a user that waits for room goes on, to read what is left.
  if (queued() == 0 && std::exchange(had_to_wait_, false)) state_.output_drained();
  look_for_end();
  arm();
}

// One timer, which is never moved to a later time: it looks again when it expires.
void Channel::arm() {
  if (!connection_) return;
  const auto due = connection_->expiry();
  if (due >= armed_) return;
  armed_ = due;
  timer_.expires_at(std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(due)));
  timer_.async_wait([weak = weak_from_this()](const error_code& error) {
    const auto self = weak.lock();
    if (error || !self || !self->connection_) return;
    self->armed_ = Time::max();
    const auto now = Endpoint::now();
    if (self->connection_->expiry() > now) return self->arm();  // put off since
    self->connection_->expire(now);
    self->turn();
  });
}

// --- Input ---------------------------------------------------------------------------------------

void Channel::start(ChannelHandler& handler, const Framing& framing) {
  state_.start(handler);
  framer_ = &framing.framer;
  for (auto& input : inputs_) input.splitter.emplace(*framer_);
  set_hold_limit(framing.hold_limit);
  // What has come already is delivered from the loop.
  if (!waiting_.empty() || (connection_ && connection_->over())) {
    boost::asio::post(executor_, [self = shared_from_this()] { self->turn(); });
  }
}

void Channel::set_hold_limit(std::size_t octets) {
  for (auto& input : inputs_) input.splitter->set_hold_limit(octets);
  if (!connection_ || octets < framer_->size_max()) return;
  connection_->open_window();
}

void Channel::deliver() {
  if (framer_ == nullptr || waiting_.empty() || state_.paused()) return;
  while (!waiting_.empty() && !state_.paused()) {
    const auto number = waiting_.front();
    auto& input = inputs_[number];
    deliver(number, input);
    forget_delivered(input);
    if (!input.octets.empty()) continue;  // paused
    input.waiting = false;
    waiting_.pop_front();
  }
  if (state_.paused()) paused_at_ = Endpoint::now();
  state_.input_done(unfinished());
}

std::optional<std::chrono::nanoseconds> Channel::unfinished() const {
  // What continues them may have come, and waits.
  if (mid_message_ == 0 || state_.paused()) return std::nullopt;
  const auto now = Endpoint::now();
  auto first = now;
  for (const auto& input : inputs_) {
    if (input.splitter->mid_message()) first = std::min(first, input.heard);
  }
  return now - first;
}

void Channel::deliver(StreamNumber number, Input& input) {
  const auto octets = std::span<const std::byte>(input.octets).subspan(input.from);
  std::size_t rest = 0;
  if (state_.takes_input()) {
    const bool was_mid = input.splitter->mid_message();
    const Delivery delivery{StreamId{static_cast<std::uint16_t>(number)}};
    const auto error = input.splitter->feed(octets, [&](std::span<const std::byte> message) {
      return state_.deliver(message, delivery);
    });
    if (state_.takes_input()) rest = input.splitter->unread();
    if (error) state_.malformed(*error);
    mid_message_ += std::size_t{input.splitter->mid_message()};
    mid_message_ -= std::size_t{was_mid};
    if (input.splitter->mid_message()) input.heard = Endpoint::now();
  }
  const auto taken = octets.size() - rest;
  input.from += taken;
  // What the splitter keeps has not been taken: parts of messages on many streams would add up.
  const auto held = state_.takes_input() ? input.splitter->held() : 0;
  const auto done = taken + std::exchange(input.held, held) - held;
  if (connection_ && done != 0) connection_->consumed(number, done);
}

// What has been delivered counts no longer against the window, so it must not stay.
void Channel::forget_delivered(Input& input) {
  if (input.from * 2 < input.octets.size()) return;
  input.octets.erase(input.octets.begin(),
                     input.octets.begin() + static_cast<std::ptrdiff_t>(input.from));
  input.from = 0;
  if (input.octets.empty() && input.octets.capacity() > kKeptInput) input.octets.shrink_to_fit();
}

void Channel::pause_input() {
  if (!state_.paused()) paused_at_ = Endpoint::now();
  state_.pause();
}

void Channel::resume_input() {
  if (!state_.resume()) return;
  const auto pause = Endpoint::now() - paused_at_;
  for (auto& input : inputs_) input.heard += pause;
  // Never from inside a delivery or a send: the loop brings us back with a clean stack.
  boost::asio::post(executor_, [self = shared_from_this()] { self->turn(); });
}

// --- Output --------------------------------------------------------------------------------------

std::span<std::byte> Channel::allocate(std::size_t size, Delivery delivery, std::size_t limit) {
  if (state_.closing() || !connection_ || connection_->over() || streams_ == 0) return {};
  if (size > limit - std::min(limit, connection_->queued())) return {};
  return connection_->allocate(delivery.stream.value % streams_, size);
}

void Channel::flush() {
  if (!connection_ || connection_->over()) return;
  connection_->commit();
  connection_->write(Endpoint::now());
  endpoint_->flush();
  if (connection_->queued() != 0) had_to_wait_ = true;
  if (connection_->over()) {
    // Reported from the loop, because the caller is in the middle of its work.
    return boost::asio::post(executor_, [self = shared_from_this()] { self->turn(); });
  }
  arm();
}

// --- The end -------------------------------------------------------------------------------------

void Channel::close() {
  if (!connection_ || !state_.begin_close()) return;
  state_.resume();
  close_timer_.expires_after(kCloseTimeout);
  // It keeps the channel, whatever its user does: what is queued must go out and be acknowledged.
  close_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->ended({});
  });
  if (!connection_->over()) connection_->finish();
  // From the loop, because the caller may be in the middle of a delivery.
  boost::asio::post(executor_, [self = shared_from_this()] { self->turn(); });
  flush();
}

void Channel::look_for_end() {
  if (!connection_) return;
  const auto& over = connection_->over();
  // What has arrived before a goodbye is still delivered.
  const bool all_delivered = waiting_.empty() || !state_.takes_input();
  if (state_.closing()) {
    if (over || connection_->finished()) ended({});
    return;
  }
  if (over && (*over || all_delivered || on_up_)) return ended(*over);
  // The peer is done sending, which interrupts the session (7.6).
  if (streams_ != 0 && fins_ >= streams_ && all_delivered && framer_ != nullptr) ended({});
}

void Channel::detach() {
  state_.detach();
  if (state_.closing() && connection_) return;  // which goes on
  reset();
}

void Channel::reset() {
  state_.detach();
  if (connection_ && !connection_->over()) {
    connection_->end(Goodbye::kDropped, Endpoint::now());
  }
  ended({});
}

void Channel::ended(const error_code& reason) {
  const auto self = shared_from_this();
  timer_.cancel();
  close_timer_.cancel();
  if (connection_) {
    try {
      last_statistics_ = statistics();
    } catch (const std::bad_alloc&) {
      // There are none.
    }
    const bool orderly = !reason && (!state_.closing() || connection_->finished());
    if (!connection_->over()) {
      connection_->end(orderly ? Goodbye::kOrderly : Goodbye::kDropped, Endpoint::now());
    }
    proven_ = connection_->proven();
    endpoint_->leave(*this, connection_->farewell());
    spent_ = {std::move(connection_), std::move(endpoint_)};
    try {
      spent_.endpoint->flush();
      // From the loop: it may have called us.
      boost::asio::post(executor_, [self] { self->spent_ = {}; });
    } catch (const std::bad_alloc&) {
      // It goes with the channel.
    }
  }
  if (auto on_up = std::exchange(on_up_, nullptr)) {
    on_up(reason ? reason : error_code(boost::asio::error::connection_aborted));
  }
  state_.ended(reason);
}

// --- Figures -------------------------------------------------------------------------------------

std::string Channel::peer_address() const { return address_text(peer_.address()); }

std::string Channel::peer_endpoint() const { return endpoint_text(peer_address(), peer_.port()); }

TransportStatistics Channel::statistics() const {
  if (!connection_) return last_statistics_;
  const auto figures = connection_->figures();
  const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
  const auto ms = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  return {{"rtt_ms", ms(figures.rtt)},
          {"rttvar_ms", ms(figures.rttvar)},
          {"cwnd_octets", number(figures.congestion_window)},
          {"unacked_octets", number(figures.in_flight)},
          {"sent_packets", number(figures.sent), true},
          {"received_packets", number(figures.received), true}};
}

}  // namespace simco::net::quic
