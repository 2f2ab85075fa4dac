// Streams, ends and figures: what the user of a connection does with ngtcp2. Setting it up is in
// connection_set_up.cpp.
#include "simco/net/quic/connection.hpp"

#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cstring>
#include <new>
#include <utility>

#include "simco/net/error.hpp"
#include "simco/net/quic/library.hpp"
#include "simco/net/quic/limits.hpp"

namespace simco::net::quic {

using boost::system::error_code;

namespace {

Connection::Udp::endpoint endpoint_of(const ngtcp2_addr& address) {
  Connection::Udp::endpoint result;
  const auto size = static_cast<std::size_t>(address.addrlen);
  if (size > result.capacity()) return result;
  std::memcpy(result.data(), address.addr, size);
  result.resize(size);
  return result;
}

Connection::Way way_of(const ngtcp2_path& path) {
  return {endpoint_of(path.local), endpoint_of(path.remote)};
}

std::chrono::nanoseconds duration(ngtcp2_duration time) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(time));
}

}  // namespace

void Connection::Free::operator()(ngtcp2_conn* connection) const { ngtcp2_conn_del(connection); }

thread_local Connection* Connection::receiving_ = nullptr;

Connection::~Connection() = default;

Connection::Way Connection::way() const { return way_of(*ngtcp2_conn_get_path(library_.get())); }

// --- What happens --------------------------------------------------------------------------------

void Connection::receive(const Way& way, std::span<const std::byte> packet, Time now) {
  if (over_) return;
  ++received_;
  // RFC 9000 8.1: it uses an identifier that only we can have told it.
  if (!proven_) proven_ = destination_of(packet) != first_id_;
  PathOf path(way);
  const ngtcp2_pkt_info info{};
  receiving_ = this;
  const int why = ngtcp2_conn_read_pkt(library_.get(), path.get(), &info,
                                       reinterpret_cast<const std::uint8_t*>(packet.data()),
                                       packet.size(), timestamp(now));
  if (refused_ && ngtcp2_err_is_fatal(why) == 0) {
    send_close(static_cast<std::uint64_t>(*refused_), false, now);
    return set_over(NetError::kQuicViolation);
  }
  if (why != 0) return fail(why, now);
  if (broken_) {
    end(Goodbye::kDropped, now);
    return set_over(boost::asio::error::connection_reset);
  }
  if (memory_->used > memory_max()) {
    end(Goodbye::kDropped, now);
    return set_over(NetError::kQuicMemory);
  }
  came_up(now);
  unblock();
}

std::size_t Connection::memory_max() const {
  return (window_open_ ? kMemoryMax : kGuestMemoryMax) + wanted_streams_ * kStreamMemoryMax;
}

Time Connection::expiry() const {
  if (over_) return Time::max();
  const auto at = ngtcp2_conn_get_expiry(library_.get());
  constexpr auto kNever = static_cast<ngtcp2_tstamp>(Time::max().count());
  return at >= kNever ? Time::max() : Time(static_cast<Time::rep>(at));
}

void Connection::expire(Time now) {
  if (over_) return;
  probing_ = true;
  handle_expiry(now);
}

void Connection::handle_expiry(Time now) {
  if (const int why = ngtcp2_conn_handle_expiry(library_.get(), timestamp(now)); why != 0) {
    fail(why, now);
  }
}

void Connection::came_up(Time now) {
  if (!handshake_done_ || up_ || over_) return;
  try {
    open_streams(now);
  } catch (const std::bad_alloc&) {
    set_over(boost::asio::error::no_memory);
  }
}

void Connection::open_streams(Time now) {
  gnutls_datum_t protocol{};
  const bool agreed =
      gnutls_alpn_get_selected_protocol(tls_->session, &protocol) == 0 &&
      std::string_view(reinterpret_cast<const char*>(protocol.data), protocol.size) == kAlpn;
  const auto* theirs = ngtcp2_conn_get_remote_transport_params(library_.get());
  if (!agreed || theirs == nullptr || theirs->initial_max_streams_uni == 0) {
    send_close(NGTCP2_CRYPTO_ERROR | GNUTLS_A_NO_APPLICATION_PROTOCOL, false, now);
    return set_over(tls_alert(GNUTLS_A_NO_APPLICATION_PROTOCOL));
  }
  const auto count = static_cast<std::size_t>(
      std::min<std::uint64_t>(wanted_streams_, theirs->initial_max_streams_uni));
  // Each is in them once at most, so that nothing later fails for want of memory.
  ready_.reserve(count);
  touched_.reserve(count);
  outputs_.resize(count);
  end_tls();
  for (auto& output : outputs_) {
    if (const int why = ngtcp2_conn_open_uni_stream(library_.get(), &output.id, nullptr);
        why != 0) {
      return fail(why, now);
    }
  }
  open_outputs_ = outputs_.size();
  keep_alive(duration(theirs->max_idle_timeout));
  up_ = true;
}

// The peer's idle timeout may be shorter than ours, and half of it leaves time for a lost packet.
void Connection::keep_alive(std::chrono::nanoseconds peers_idle_timeout) {
  if (keep_alive_.count() == 0) return;
  if (peers_idle_timeout.count() != 0) keep_alive_ = std::min(keep_alive_, peers_idle_timeout / 2);
  ngtcp2_conn_set_keep_alive_timeout(library_.get(),
                                     static_cast<ngtcp2_duration>(keep_alive_.count()));
}

// --- Output --------------------------------------------------------------------------------------

std::span<std::byte> Connection::allocate(StreamNumber stream, std::size_t size) {
  auto& output = outputs_.at(stream);
  const auto room = output.octets.allocate(size);
  if (!std::exchange(output.touched, true)) touched_.push_back(stream);
  queued_ += size;
  unacknowledged_ += size;
  return room;
}

void Connection::commit() {
  for (const auto number : touched_) {
    outputs_[number].touched = false;
    outputs_[number].octets.commit();
    make_ready(number);
  }
  touched_.clear();
}

void Connection::finish() {
  commit();
  finishing_ = true;
  for (StreamNumber number = 0; number < outputs_.size(); ++number) {
    outputs_[number].fin_due = true;
    make_ready(number);
  }
}

void Connection::make_ready(StreamNumber number) {
  auto& output = outputs_[number];
  if (output.blocked || std::exchange(output.ready, true)) return;
  // A message that has been sent in part goes first: the peer gives room back for whole ones only,
  // and parts of many would take all there is.
  ready_.insert(output.octets.mid_message() ? ready_.begin() : ready_.end(), number);
}

// The peer may have opened its windows; if not, the library says so again.
void Connection::unblock() {
  if (std::exchange(blocked_, 0) == 0) return;
  for (StreamNumber number = 0; number < outputs_.size(); ++number) {
    if (std::exchange(outputs_[number].blocked, false)) make_ready(number);
  }
}

void Connection::write(Time now) {
  if (over_) return;
  auto sent = write_burst(now);
  // Timers are late in a busy loop. What they find lost goes out now: nothing else may be due when
  // a pause is forgotten below.
  if (sent != 0 && expiry() <= now) {
    expire(now);
    sent += write_burst(now);
  }
  if (over_) return;
  if (sent == 0) return came_up(now);
  // Few packets are not a burst (RFC 9002 7.7): a flow of short messages does not wait for the
  // rate that was estimated from so little.
  // What the end of a burst has left behind needs a timer.
  const bool paced = sent > kUnpaced || cut_off_;
  ngtcp2_conn_update_pkt_tx_time(library_.get(), timestamp(paced ? now : Time(0)));
  if (!paced) handle_expiry(now);  // which forgets a pause that is over
  came_up(now);
}

std::size_t Connection::write_burst(Time now) {
  const auto burst = std::clamp<std::size_t>(
      ngtcp2_conn_get_send_quantum(library_.get()) / kPacketSize, 1, kBurstMax);
  std::size_t sent = 0;
  for (cut_off_ = true; cut_off_ && sent < burst && !over_;) {
    const auto before = sent_;
    cut_off_ = write_packet(now);
    sent += sent_ - before;
  }
  probing_ = false;
  return sent;
}

bool Connection::write_packet(Time now) {
  std::array<std::uint8_t, kPacketSize> packet;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  for (;;) {
    Output* const output = ready_.empty() ? nullptr : &outputs_[ready_.front()];
    const auto piece = output == nullptr ? std::span<const std::byte>() : output->octets.next();
    const bool fin =
        output != nullptr && output->fin_due && piece.size() == output->octets.unsent();
    const ngtcp2_vec part{
        const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(piece.data())),
        piece.size()};
    std::uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_NONE;
    const bool last = ready_.size() == 1 && piece.size() == output->octets.unsent();
    if (output != nullptr && !last) flags |= NGTCP2_WRITE_STREAM_FLAG_MORE;
    if (fin) flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
    ngtcp2_ssize count = -1;
    const auto size = ngtcp2_conn_writev_stream(
        library_.get(), &path.path, &info, packet.data(), packet.size(), &count, flags,
        output == nullptr ? -1 : output->id, &part, piece.empty() ? 0 : 1, timestamp(now));
    if (output != nullptr && count >= 0) {
      taken(*output, static_cast<std::size_t>(count), fin && std::cmp_equal(count, piece.size()));
    }
    if (size == NGTCP2_ERR_WRITE_MORE) continue;
    if (size == NGTCP2_ERR_STREAM_DATA_BLOCKED) {
      output->blocked = true;
      ++blocked_;
      pop_ready();
      continue;
    }
    if (size == NGTCP2_ERR_STREAM_SHUT_WR || size == NGTCP2_ERR_STREAM_NOT_FOUND) {
      pop_ready();  // given up by the peer, which ends the connection
      continue;
    }
    if (size < 0) fail(static_cast<int>(size), now);
    if (size <= 0) return false;
    ++sent_;
    hand_out(path.path, std::as_bytes(std::span(packet).first(static_cast<std::size_t>(size))));
    // One with room left has all that there was, except for what has a packet of its own.
    return !up_ || probing_ || !ready_.empty() || std::cmp_greater(size, kFullPacket);
  }
}

void Connection::hand_out(const ngtcp2_path& path, std::span<const std::byte> packet) {
  user_.on_output(way_of(path), packet);
}

void Connection::taken(Output& output, std::size_t count, bool fin) {
  output.octets.sent(count);
  queued_ -= count;
  if (fin) output.fin_due = false;
  if (output.octets.unsent() == 0 && !output.fin_due) return pop_ready();
  // Another stream's turn, unless that would leave a message unfinished.
  if (count != 0 && !output.octets.mid_message()) {
    std::ranges::rotate(ready_, ready_.begin() + 1);
  }
}

void Connection::pop_ready() {
  outputs_[ready_.front()].ready = false;
  ready_.erase(ready_.begin());
}

// --- Input ---------------------------------------------------------------------------------------

void Connection::consumed(StreamNumber stream, std::size_t count) {
  if (over_) return;
  // A stream that has ended needs no window; that of the connection counts on.
  ngtcp2_conn_extend_max_stream_offset(library_.get(), incoming_id(stream), count);
  ngtcp2_conn_extend_max_offset(library_.get(), count);
}

void Connection::open_window() {
  if (over_ || std::exchange(window_open_, true)) return;
  ngtcp2_conn_extend_max_offset(library_.get(), kWindow - kGuestWindow);
}

std::int64_t Connection::incoming_id(StreamNumber number) const {
  constexpr std::int64_t kAgents = 2;  // RFC 9000 2.1
  constexpr std::int64_t kMiddleboxs = 3;
  const bool middlebox = credentials_->side() == TlsSide::kMiddlebox;
  return 4 * std::int64_t{number} + (middlebox ? kAgents : kMiddleboxs);
}

Connection::Figures Connection::figures() const {
  ngtcp2_conn_stat state{};
  ngtcp2_conn_get_conn_stat(library_.get(), &state);
  std::uint64_t memory = 0;
  for (const auto& output : outputs_) memory += output.octets.held();
  return {.rtt = duration(state.smoothed_rtt),
          .rttvar = duration(state.rttvar),
          .congestion_window = state.cwnd,
          .in_flight = state.bytes_in_flight,
          .sent = sent_,
          .received = received_,
          .output_memory = memory,
          .library_memory = memory_->used};
}

}  // namespace simco::net::quic
