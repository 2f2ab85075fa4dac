// Input is delivered and output written after the packets of a turn; a timer drives what is due
// later. The end of all streams is the peer's close.
#include "simco/net/quic/channel.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "simco/net/endpoint.hpp"
#include "simco/net/quic/endpoint.hpp"

namespace simco::net::quic {

using boost::system::error_code;

Channel::Channel(std::shared_ptr<Endpoint> endpoint, OnUp on_up)
    : endpoint_(std::move(endpoint)),
      on_up_(std::move(on_up)),
      timer_(endpoint_->get_executor()),
      close_timer_(endpoint_->get_executor()) {}

Channel::~Channel() {
  if (!endpoint_) return;
  if (!connection_) {
    endpoint_->leave(*this, std::nullopt);
    return;
  }
  connection_->end(CloseCode::kDropped, Endpoint::now());
  endpoint_->leave(*this, connection_->closing_packet());
  endpoint_->flush();
}

void Channel::begin(const std::shared_ptr<const Credentials>& credentials,
                    const QuicOptions& options, const Path& path, const Connection::Call* call,
                    const Gate::Admission* admission) {
  inputs_.open(options.streams);
  peer_ = {path.remote, path.remote_port};
  Connection::User& user = *this;
  connection_ = std::make_unique<Connection>(user, credentials, options, way_of(path), call,
                                             admission, Endpoint::now());
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

void Channel::turn_later() {
  boost::asio::post(timer_.get_executor(), [self = shared_from_this()] { self->turn(); });
}

void Channel::tell_up() {
  if (!connection_ || !connection_->up() || !on_up_) return;
  streams_ = connection_->streams();
  names_ = connection_->peer_names();
  std::exchange(on_up_, nullptr)({});
}

void Channel::write() {
  if (!connection_) return;
  const auto self = shared_from_this();
  // Messages queued behind waiting output follow it without a further call.
  if (had_to_wait_) connection_->commit();
  connection_->write(Endpoint::now());
  endpoint_->flush();
  // Also when the peer has closed: a user that waits for room goes on, to read the rest.
  if (queued() == 0 && std::exchange(had_to_wait_, false)) state_.output_drained();
  look_for_end();
  arm();
}

void Channel::arm() {
  if (!connection_) return;
  timer_.arm(connection_->expiry(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || !self->connection_) return;
    self->timer_.disarm();
    const auto now = Endpoint::now();
    if (self->connection_->expiry() > now) return self->arm();  // put off since
    self->connection_->expire(now);
    self->turn();
  });
}

// --- Input ---------------------------------------------------------------------------------------

void Channel::start(ChannelHandler& handler, const Framing& framing) {
  state_.start(handler);
  inputs_.start(framing);
  set_hold_limit(framing.hold_limit);
  // Messages that have come already are delivered from the loop.
  if (inputs_.waiting() || (connection_ && connection_->over())) turn_later();
}

void Channel::set_hold_limit(std::size_t octets) {
  if (inputs_.set_hold_limit(octets) && connection_) connection_->open_window();
}

void Channel::deliver() {
  inputs_.deliver(state_, Endpoint::now(), [this](StreamNumber stream, std::size_t count) {
    if (connection_) connection_->consumed(stream, count);
  });
}

void Channel::pause_input() {
  if (!state_.paused()) inputs_.pause(Endpoint::now());
  state_.pause();
}

void Channel::resume_input() {
  if (!state_.resume()) return;
  inputs_.resume(Endpoint::now());
  // Never from inside a delivery or a send: the loop brings us back with a clean stack.
  turn_later();
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
    return turn_later();
  }
  arm();
}

// --- The end -------------------------------------------------------------------------------------

void Channel::close() {
  if (!connection_ || !state_.begin_close()) return;
  state_.resume();
  close_timer_.expires_after(kCloseTimeout);
  // It keeps the channel, even without its user: queued messages must go out and be acknowledged.
  close_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->ended({});
  });
  if (!connection_->over()) connection_->finish();
  // From the loop, because the caller may be in the middle of a delivery.
  turn_later();
  flush();
}

void Channel::look_for_end() {
  if (!connection_) return;
  const auto& over = connection_->over();
  // Messages from before a close are still delivered.
  const bool all_delivered = !inputs_.waiting() || !state_.takes_input();
  if (state_.closing()) {
    if (over || connection_->finished()) ended({});
    return;
  }
  if (over && (*over || all_delivered || on_up_)) return ended(*over);
  // The peer is done sending, which interrupts the session (7.6).
  if (streams_ != 0 && inputs_.ended(streams_) && all_delivered && inputs_.started()) ended({});
}

void Channel::detach() {
  state_.detach();
  if (state_.closing() && connection_) return;  // which goes on
  reset();
}

void Channel::reset() {
  state_.detach();
  if (connection_ && !connection_->over()) {
    connection_->end(CloseCode::kDropped, Endpoint::now());
  }
  ended({});
}

void Channel::ended(const error_code& reason) {
  const auto self = shared_from_this();
  timer_.cancel();
  close_timer_.cancel();
  if (connection_) {
    past_ = {statistics(), connection_->proven()};
    const bool orderly = !reason && (!state_.closing() || connection_->finished());
    if (!connection_->over()) {
      connection_->end(orderly ? CloseCode::kOrderly : CloseCode::kDropped, Endpoint::now());
    }
    endpoint_->leave(*this, connection_->closing_packet());
    spent_ = {std::move(connection_), std::move(endpoint_)};
    spent_.endpoint->flush();
    // From the loop: it may have called us.
    boost::asio::post(timer_.get_executor(), [self] { self->spent_ = {}; });
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
  if (!connection_) return past_.statistics;
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
