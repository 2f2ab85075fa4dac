// One QUIC connection: ngtcp2 (RFC 9000, 9002) with TLS by GnuTLS (RFC 9001), N streams of each
// direction for messages. No I/O and no clock: packets and time are given to it, and what it has to
// say goes to a User.
#pragma once

#include <algorithm>
#include <boost/asio/ip/udp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simco/net/quic/credentials.hpp"
#include "simco/net/quic/gate.hpp"
#include "simco/net/quic/limits.hpp"
#include "simco/net/quic/ngtcp2_guard.hpp"
#include "simco/net/quic/options.hpp"
#include "simco/net/quic/stream_output.hpp"

struct ngtcp2_conn;
struct ngtcp2_path;

namespace simco::net::quic {

/// Number of a stream, from 0, of those that one end sends on.
using StreamNumber = std::uint32_t;

/// How a connection ends, as the peer is told (an application error code, RFC 9000 20.2).
enum class Goodbye : std::uint8_t {
  kOrderly = 0,
  kDropped = 1,  ///< what is under way may be lost
};

class Connection {
 public:
  using Udp = boost::asio::ip::udp;
  /// Where a packet comes from or goes to.
  struct Way {
    Udp::endpoint local;
    Udp::endpoint remote;
  };

  /// Is called by receive(), write(), expire() and end(), and must not call the connection.
  class User {
   public:
    /// Packets to `id` are for this connection.
    virtual void on_id(const ConnectionId& id) = 0;
    virtual void on_id_retired(const ConnectionId& id) = 0;
    virtual ResetToken reset_token(const ConnectionId& id) = 0;
    /// The next octets of a stream; the last ones if `fin`.
    virtual void on_input(StreamNumber stream, std::span<const std::byte> octets, bool fin) = 0;
    virtual void on_output(const Way& way, std::span<const std::byte> packet) = 0;

   protected:
    ~User() = default;
  };

  /// Whom an agent calls.
  struct Call {
    std::string name;  ///< host name or address that the peer's certificate must be valid for
  };
  /// Begins a connection: an agent's with `call`, a middlebox's with `welcome`. Exactly one of them
  /// is not null; both are valid during the call only.
  Connection(User& user, std::shared_ptr<const Credentials> credentials, const QuicOptions& options,
             const Way& way, const Call* call, const Gate::Welcome* welcome, Time now);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // --- What happens

  void receive(const Way& way, std::span<const std::byte> packet, Time now);
  /// When expire() is due.
  Time expiry() const;
  void expire(Time now);
  /// Makes the packets that may leave now.
  void write(Time now);

  // --- How far it has come

  /// The handshake is complete, with the peer's certificate verified.
  bool up() const { return up_; }
  /// It is over, for this reason: none if the peer closed it in an orderly way.
  const std::optional<boost::system::error_code>& over() const { return over_; }
  /// Packets from this end have reached the peer's address.
  bool proven() const { return proven_; }
  /// It is over because the peer's first word came in pieces, which are not kept for a peer whose
  /// address is not proven: it must be asked for that (Retry).
  bool wants_proof() const { return wants_proof_; }
  /// What late packets of the peer's are answered with when the connection has ended (RFC 9000
  /// 10.2.1): nothing if it is empty, because the peer has said so itself (10.2.2). None: the peer
  /// cannot know of the end.
  const std::optional<std::vector<std::byte>>& farewell() const { return farewell_; }
  std::uint16_t streams() const { return static_cast<std::uint16_t>(outputs_.size()); }
  Way way() const;
  /// Names in the peer's certificate, once it is up.
  const std::vector<std::string>& peer_names() const { return peer_names_; }

  // --- Messages, once it is up

  /// Room for octets at the end of a stream; they leave after the next commit(), with write().
  std::span<std::byte> allocate(StreamNumber stream, std::size_t size);
  void commit();
  /// Octets that are in no packet yet, and those in packets beyond kUnacknowledgedMax.
  std::size_t queued() const { return queued_ + withheld(); }
  /// The user has taken so many octets of on_input(): the peer may send as many more.
  void consumed(StreamNumber stream, std::size_t count);
  /// The peer may send kWindow ahead.
  void open_window();
  /// Ends all streams behind what is queued.
  void finish();
  /// The peer has acknowledged everything, the ends of the streams included.
  bool finished() const { return finishing_ && open_outputs_ == 0; }
  /// Tells the peer that the connection is over, if it is not yet. Nothing follows.
  void end(Goodbye goodbye, Time now);

  struct Figures {
    std::chrono::nanoseconds rtt{0};
    std::chrono::nanoseconds rttvar{0};
    std::uint64_t congestion_window = 0;  ///< octets
    std::uint64_t in_flight = 0;          ///< octets
    std::uint64_t sent = 0;               ///< packets
    std::uint64_t received = 0;           ///< packets
    std::uint64_t output_memory = 0;      ///< octets kept until they are acknowledged
    std::uint64_t library_memory = 0;     ///< octets that ngtcp2 has allocated
  };
  Figures figures() const;

 private:
  struct Library;  // callbacks
  friend struct Library;
  /// The one that reads a packet, which ngtcp2 does not say when it opens one.
  static thread_local Connection* receiving_;

  /// A stream that this end sends on.
  struct Output {
    std::int64_t id = -1;
    StreamOutput octets;
    bool touched = false;  ///< allocated from since the last commit()
    bool ready = false;    ///< among ready_
    bool blocked = false;  ///< waits for the peer's window
    bool fin_due = false;
    bool closed = false;  ///< acknowledged to its end
  };

  void set_up_tls(const Call* call);
  void set_up_library(const Way& way, const QuicOptions& options, const Gate::Welcome* welcome,
                      Time now);
  bool peer_is_valid();
  /// Nothing of it is needed when the handshake is over, but for the names of the peer.
  void end_tls();
  /// Opens the streams if the handshake has completed. Without memory for them it is over.
  void came_up(Time now);
  void open_streams(Time now);
  void keep_alive(std::chrono::nanoseconds peers_idle_timeout);
  void make_ready(StreamNumber number);
  void unblock();
  void handle_expiry(Time now);
  /// Returns how many packets it has made.
  std::size_t write_burst(Time now);
  /// False if there is nothing more to send for now.
  bool write_packet(Time now);
  void hand_out(const ngtcp2_path& path, std::span<const std::byte> packet);
  void taken(Output& output, std::size_t count, bool fin);
  void pop_ready();
  /// Octets that the library may take.
  std::size_t memory_max() const;
  /// As the protocol numbers a stream that the peer sends on.
  std::int64_t incoming_id(StreamNumber number) const;
  void fail(int why, Time now);
  void set_over(const boost::system::error_code& reason);
  boost::system::error_code why_peer_closed() const;
  void send_close(std::uint64_t code, bool application, Time now);

  User& user_;
  std::shared_ptr<const Credentials> credentials_;
  struct Tls;
  std::unique_ptr<Tls> tls_;  ///< null when the handshake is over
  struct Memory;
  std::unique_ptr<Memory> memory_;
  struct Free {
    void operator()(ngtcp2_conn* connection) const;
  };
  std::unique_ptr<ngtcp2_conn, Free> library_;
  std::string expected_name_;
  std::vector<std::string> peer_names_;
  std::uint16_t wanted_streams_;
  std::chrono::nanoseconds keep_alive_{0};  ///< 0: none
  std::deque<Output> outputs_;
  std::vector<StreamNumber> ready_;    ///< streams with something to send, in turn
  std::vector<StreamNumber> touched_;  ///< since the last commit()
  std::size_t blocked_ = 0;            ///< streams that wait for the peer's window
  /// Octets beyond kUnacknowledgedMax that are in packets and must be kept: a peer can acknowledge
  /// all packets but those that begin a stream.
  std::size_t withheld() const {
    const auto in_packets = unacknowledged_ - queued_;
    return in_packets - std::min(in_packets, kUnacknowledgedMax);
  }

  std::size_t queued_ = 0;
  std::size_t unacknowledged_ = 0;  ///< octets that are kept, with those of queued_
  std::size_t open_outputs_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::optional<boost::system::error_code> over_;
  std::optional<Refusal> refused_;            ///< why a packet is
  std::optional<CertificateFault> rejected_;  ///< why the peer's certificate is
  std::optional<std::vector<std::byte>> farewell_;
  ConnectionId first_id_;  ///< to which the peer's first packet went
  bool proven_ = false;
  bool wants_proof_ = false;
  bool up_ = false;
  bool handshake_done_ = false;
  bool window_open_ = false;
  bool finishing_ = false;
  bool cut_off_ = false;     ///< the last burst may have left something behind
  bool probing_ = false;     ///< a timer was due, after which more than one packet may be short
  bool broken_ = false;      ///< the peer has given up a stream, and messages with it
  bool reset_seen_ = false;  ///< it knows nothing of this connection (stateless reset)
};

}  // namespace simco::net::quic
