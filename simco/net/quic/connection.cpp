// Packets, time, the end and figures: a connection's use of ngtcp2. Setting that up is in
// connection_library.cpp.
#include "simco/net/quic/connection.hpp"

#include <gnutls/gnutls.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <utility>

#include "simco/net/datagram_port.hpp"
#include "simco/net/error.hpp"
#include "simco/net/quic/library.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/net/quic/tls_session.hpp"
#include "simco/net/tls.hpp"

namespace simco::net::quic {

using boost::system::error_code;

namespace {

Connection::Way way_of(const ngtcp2_path& path) {
  return {endpoint_of(path.local.addr, path.local.addrlen),
          endpoint_of(path.remote.addr, path.remote.addrlen)};
}

std::chrono::nanoseconds duration(ngtcp2_duration time) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(time));
}

constexpr std::uint64_t kLastAlert = kAlertBase + 0xFF;

error_code why_peer_closed(ngtcp2_conn* connection) {
  const auto error = close_error(connection);
  if (error.type == NGTCP2_CCERR_TYPE_APPLICATION) {
    return error.error_code == 0 ? error_code() : boost::asio::error::connection_reset;
  }
  if (error.error_code == NGTCP2_NO_ERROR) return {};
  if (error.error_code == NGTCP2_CONNECTION_REFUSED) return boost::asio::error::connection_refused;
  if (error.error_code >= kAlertBase && error.error_code <= kLastAlert) {
    return tls_alert(static_cast<std::uint8_t>(error.error_code - kAlertBase));
  }
  return boost::asio::error::connection_reset;
}

}  // namespace

void ConnectionEnd::set_closed_by_peer(ngtcp2_conn* connection) {
  if (reset_) return set(boost::asio::error::connection_reset);
  closing_packet_.emplace();
  set(why_peer_closed(connection));
}

void Connection::Free::operator()(ngtcp2_conn* connection) const { ngtcp2_conn_del(connection); }

thread_local Connection* Connection::receiving_ = nullptr;

Connection::Connection(User& user, std::shared_ptr<const Credentials> credentials,
                       const QuicOptions& options, const Way& way, const Call* call,
                       const Gate::Admission* admission, Time now)
    : user_(user),
      side_(credentials->side()),
      tls_(std::make_unique<TlsSession>(std::move(credentials),
                                        call != nullptr ? &call->name : nullptr)),
      memory_(std::make_unique<LibraryMemory>(options.streams)),
      wanted_streams_(options.streams),
      keep_alive_(call != nullptr ? options.keep_alive : std::chrono::milliseconds(0)),
      proof_(admission) {
  library_.reset(Library::make(*this, way, options, admission, now));
  tls_->attach(library_.get());
}

Connection::~Connection() = default;

Connection::Way Connection::way() const { return way_of(*ngtcp2_conn_get_path(library_.get())); }

// --- Events --------------------------------------------------------------------------------------

void Connection::receive(const Way& way, std::span<const std::byte> packet, Time now) {
  if (over()) return;
  ++received_;
  proof_.look_at(packet);
  PathOf path(way);
  const ngtcp2_pkt_info info{};
  receiving_ = this;
  const int why = ngtcp2_conn_read_pkt(library_.get(), path.get(), &info,
                                       reinterpret_cast<const std::uint8_t*>(packet.data()),
                                       packet.size(), timestamp(now));
  if (end_.refused() && ngtcp2_err_is_fatal(why) == 0) {
    return break_off(static_cast<std::uint64_t>(*end_.refused()), NetError::kQuicViolation, now);
  }
  if (why != 0) return fail(why, now);
  if (end_.broken() || memory_->exceeded()) {
    end(CloseCode::kDropped, now);
    return end_.set(end_.broken() ? error_code(boost::asio::error::connection_reset)
                                  : NetError::kQuicMemory);
  }
  come_up(now);
  send_.unblock();
}

Time Connection::expiry() const {
  if (over()) return Time::max();
  const auto at = ngtcp2_conn_get_expiry(library_.get());
  constexpr auto kNever = static_cast<ngtcp2_tstamp>(Time::max().count());
  return at >= kNever ? Time::max() : Time(static_cast<Time::rep>(at));
}

void Connection::expire(Time now) {
  if (over()) return;
  probing_ = true;
  handle_expiry(now);
}

void Connection::handle_expiry(Time now) {
  if (const int why = ngtcp2_conn_handle_expiry(library_.get(), timestamp(now)); why != 0) {
    fail(why, now);
  }
}

void Connection::come_up(Time now) {
  if (stage_ != Stage::kHandshakeDone || over()) return;
  const auto* theirs = ngtcp2_conn_get_remote_transport_params(library_.get());
  if (!tls_->agreed() || theirs == nullptr || theirs->initial_max_streams_uni == 0) {
    return break_off(kAlertBase | GNUTLS_A_NO_APPLICATION_PROTOCOL,
                     tls_alert(GNUTLS_A_NO_APPLICATION_PROTOCOL), now);
  }
  peer_names_ = tls_->peer_names();
  tls_->detach();
  tls_.reset();
  open_streams(std::min<std::uint64_t>(wanted_streams_, theirs->initial_max_streams_uni), now);
  if (over()) return;
  keep_alive(duration(theirs->max_idle_timeout));
  stage_ = Stage::kUp;
}

void Connection::open_streams(std::uint64_t count, Time now) {
  while (send_.streams() < count) {
    std::int64_t id = -1;
    const int why = ngtcp2_conn_open_uni_stream(library_.get(), &id, nullptr);
    if (why != 0) return fail(why, now);
    send_.add(id);
  }
}

// The peer's idle timeout may be shorter than ours, and half of it leaves time for a lost packet.
void Connection::keep_alive(std::chrono::nanoseconds peers_idle_timeout) {
  if (keep_alive_.count() == 0) return;
  if (peers_idle_timeout.count() != 0) keep_alive_ = std::min(keep_alive_, peers_idle_timeout / 2);
  ngtcp2_conn_set_keep_alive_timeout(library_.get(),
                                     static_cast<ngtcp2_duration>(keep_alive_.count()));
}

// --- Output --------------------------------------------------------------------------------------

void Connection::write(Time now) {
  if (over()) return;
  auto [sent, cut_off] = write_burst(now);
  // Timers are late in a busy loop. Packets that they find lost go out now: nothing else may be due
  // when a pause is forgotten below.
  if (sent != 0 && expiry() <= now) {
    expire(now);
    const auto more = write_burst(now);
    sent += more.packets;
    cut_off = more.cut_off;
  }
  if (over()) return;
  if (sent == 0) return come_up(now);
  // Few packets are not a burst (RFC 9002 7.7): a flow of short messages does not wait for the
  // rate that was estimated from so little.
  // The rest of a burst needs a timer.
  const bool paced = kAlwaysPaces || sent > kUnpaced || cut_off;
  ngtcp2_conn_update_pkt_tx_time(library_.get(), timestamp(paced ? now : Time(0)));
  if (!paced) handle_expiry(now);  // which forgets a pause that is over
  come_up(now);
}

Connection::Burst Connection::write_burst(Time now) {
  const auto most = std::clamp<std::size_t>(
      ngtcp2_conn_get_send_quantum(library_.get()) / kPacketSize, 1, kBurstMax);
  Burst burst{0, true};
  while (burst.cut_off && burst.packets < most && !over()) {
    const auto before = sent_;
    burst.cut_off = write_packet(now);
    burst.packets += sent_ - before;
  }
  probing_ = false;
  return burst;
}

bool Connection::write_packet(Time now) {
  std::array<std::uint8_t, kPacketSize> packet;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  for (;;) {
    const bool any = send_.ready();
    const auto piece = send_.next();
    const ngtcp2_vec part{
        const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(piece.octets.data())),
        piece.octets.size()};
    std::uint32_t flags = NGTCP2_WRITE_STREAM_FLAG_NONE;
    if (any && !piece.last) flags |= NGTCP2_WRITE_STREAM_FLAG_MORE;
    if (piece.fin) flags |= NGTCP2_WRITE_STREAM_FLAG_FIN;
    ngtcp2_ssize count = -1;
    const auto size = ngtcp2_conn_writev_stream(library_.get(), &path.path, &info, packet.data(),
                                                packet.size(), &count, flags, piece.id, &part,
                                                piece.octets.empty() ? 0 : 1, timestamp(now));
    if (any && count >= 0) {
      const auto taken = static_cast<std::size_t>(count);
      send_.take(taken, piece.fin && taken == piece.octets.size());
    }
    switch (size) {
      case NGTCP2_ERR_WRITE_MORE: continue;
      case NGTCP2_ERR_STREAM_DATA_BLOCKED: send_.block(); continue;
      case NGTCP2_ERR_STREAM_SHUT_WR:
      case NGTCP2_ERR_STREAM_NOT_FOUND:
        send_.drop();  // given up by the peer, which ends the connection
        continue;
      default: break;
    }
    if (size < 0) fail(static_cast<int>(size), now);
    if (size <= 0) return false;
    ++sent_;
    hand_out(path.path, std::as_bytes(std::span(packet).first(static_cast<std::size_t>(size))));
    // A packet with room left has all frames, except those with a packet of their own.
    return !up() || probing_ || send_.ready() || std::cmp_greater(size, kFullPacket);
  }
}

void Connection::hand_out(const ngtcp2_path& path, std::span<const std::byte> packet) {
  user_.on_output(way_of(path), packet);
}

// --- Input ---------------------------------------------------------------------------------------

void Connection::consumed(StreamNumber stream, std::size_t count) {
  if (over()) return;
  // A stream that has ended needs no window; that of the connection counts on.
  ngtcp2_conn_extend_max_stream_offset(library_.get(), incoming_id(stream), count);
  ngtcp2_conn_extend_max_offset(library_.get(), count);
}

void Connection::open_window() {
  if (over() || !memory_->widen()) return;
  ngtcp2_conn_extend_max_offset(library_.get(), kWindow - kGuestWindow);
}

std::int64_t Connection::incoming_id(StreamNumber number) const {
  constexpr std::int64_t kAgents = 2;  // RFC 9000 2.1
  constexpr std::int64_t kMiddleboxs = 3;
  const bool middlebox = side_ == TlsSide::kMiddlebox;
  return 4 * std::int64_t{number} + (middlebox ? kAgents : kMiddleboxs);
}

// --- The end -------------------------------------------------------------------------------------

void Connection::end(CloseCode close, Time now) {
  if (!over()) send_close(static_cast<std::uint64_t>(close), true, now);
}

void Connection::break_off(std::uint64_t code, const error_code& reason, Time now) {
  send_close(code, false, now);
  end_.set(reason);
}

void Connection::fail(int why, Time now) {
  switch (why) {
    case NGTCP2_ERR_DRAINING: return end_.set_closed_by_peer(library_.get());
    case NGTCP2_ERR_RETRY: proof_.want(); [[fallthrough]];
    case NGTCP2_ERR_CLOSING:
    case NGTCP2_ERR_DROP_CONN: return end_.set(boost::asio::error::connection_aborted);
    case NGTCP2_ERR_IDLE_CLOSE:
    case NGTCP2_ERR_HANDSHAKE_TIMEOUT: return end_.set(boost::asio::error::timed_out);
    case NGTCP2_ERR_RECV_VERSION_NEGOTIATION:
    case NGTCP2_ERR_VERSION_NEGOTIATION_FAILURE: return end_.set(NetError::kQuicVersion);
    case NGTCP2_ERR_CRYPTO: {
      const auto alert = ngtcp2_conn_get_tls_alert(library_.get());
      const bool rejected = tls_ && tls_->rejected();
      return break_off(kAlertBase | alert,
                       rejected ? tls_error(*tls_->rejected()) : tls_alert(alert), now);
    }
    default: break;
  }
  // The library has found no memory, and must not be called again: the peer hears of the end by
  // a stateless reset, if this end gives any.
  if (ngtcp2_err_is_fatal(why) != 0) return end_.set(boost::asio::error::no_memory);
  break_off(ngtcp2_err_infer_quic_transport_error_code(why), NetError::kQuicViolation, now);
}

void Connection::send_close(std::uint64_t code, bool application, Time now) {
  ngtcp2_ccerr error;
  ngtcp2_ccerr_default(&error);
  if (application) {
    ngtcp2_ccerr_set_application_error(&error, code, nullptr, 0);
  } else {
    ngtcp2_ccerr_set_transport_error(&error, code, nullptr, 0);
  }
  std::array<std::uint8_t, kPacketSize> packet;
  ngtcp2_path_storage path;
  ngtcp2_path_storage_zero(&path);
  ngtcp2_pkt_info info{};
  const auto size = ngtcp2_conn_write_connection_close(
      library_.get(), &path.path, &info, packet.data(), packet.size(), &error, timestamp(now));
  if (size <= 0) return;
  const auto made = std::as_bytes(std::span(packet).first(static_cast<std::size_t>(size)));
  end_.set_farewell(made);
  hand_out(path.path, made);
}

Connection::Figures Connection::figures() const {
  ngtcp2_conn_info state{};
  ngtcp2_conn_get_conn_info(library_.get(), &state);
  return {.rtt = duration(state.smoothed_rtt),
          .rttvar = duration(state.rttvar),
          .congestion_window = state.cwnd,
          .in_flight = state.bytes_in_flight,
          .sent = sent_,
          .received = received_,
          .output_memory = send_.held(),
          .library_memory = memory_->used()};
}

}  // namespace simco::net::quic
