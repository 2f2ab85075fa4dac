// One QUIC connection: ngtcp2 (RFC 9000, 9002) with TLS by GnuTLS (RFC 9001), N streams of each
// direction for messages. No I/O and no clock: packets and time are given to it, and its events go
// to a User.
#pragma once

#include <boost/asio/ip/udp.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/quic/credentials.hpp"
#include "simco/net/quic/gate.hpp"
#include "simco/net/quic/ngtcp2_guard.hpp"
#include "simco/net/quic/options.hpp"
#include "simco/net/quic/send_queue.hpp"

struct ngtcp2_conn;
struct ngtcp2_path;

namespace simco::net::quic {

/// RFC 9001 4.8: the code of a transport error is this and the alert of TLS.
inline constexpr std::uint64_t kAlertBase = 0x100;

/// How a connection ends: what has been seen of it, and what is said of it.
class ConnectionEnd {
 public:
  /// None if the peer closed it in an orderly way.
  const std::optional<boost::system::error_code>& reason() const { return reason_; }
  /// Only the first reason counts.
  void set(const boost::system::error_code& reason) {
    if (!reason_) reason_ = reason;
  }
  /// The peer has closed `connection`.
  void set_closed_by_peer(ngtcp2_conn* connection);

  // --- Seen in a packet

  /// The library must not see it.
  void refuse(Refusal why) { refused_ = why; }
  const std::optional<Refusal>& refused() const { return refused_; }
  /// The peer has given up a stream, and messages with it.
  void note_broken() { broken_ = true; }
  bool broken() const { return broken_; }
  /// The peer knows nothing of this connection (stateless reset).
  void note_reset() { reset_ = true; }

  // --- Said of it

  /// As Connection has it.
  const std::optional<std::vector<std::byte>>& closing_packet() const { return closing_packet_; }
  void set_farewell(std::span<const std::byte> packet) {
    closing_packet_.emplace(packet.begin(), packet.end());
  }

 private:
  std::optional<boost::system::error_code> reason_;
  std::optional<Refusal> refused_;
  std::optional<std::vector<std::byte>> closing_packet_;
  bool broken_ = false;
  bool reset_ = false;
};

/// Peers in another's name: whether packets of a connection reach the address that they say they
/// come from (RFC 9000 8.1).
class AddressProof {
 public:
  /// `admission`: of a peer that has begun the connection; nullptr: this end has.
  explicit AddressProof(const Gate::Admission* admission)
      : first_id_(admission != nullptr ? admission->destination : ConnectionId()),
        given_(admission != nullptr && !admission->token.empty()) {}

  /// A packet proves it that goes to an identifier which only this end can have told the peer.
  void look_at(std::span<const std::byte> packet) {
    if (!given_) given_ = destination_of(packet) != first_id_;
  }
  bool given() const { return given_; }
  /// The peer must be asked for it (Retry).
  void want() { wanted_ = true; }
  bool wanted() const { return wanted_; }

 private:
  ConnectionId first_id_;  ///< to which the peer's first packet went
  bool given_;
  bool wanted_ = false;
};

class LibraryMemory;
class TlsSession;

/// How a connection ends, as the peer is told (an application error code, RFC 9000 20.2).
enum class CloseCode : std::uint8_t {
  kOrderly = 0,
  kDropped = 1,  ///< messages under way may be lost
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

  /// The peer of an agent.
  struct Call {
    std::string name;  ///< host name or address that the peer's certificate must be valid for
  };
  /// Begins a connection: an agent's with `call`, a middlebox's with `admission`. Exactly one of
  /// them is not null; both are valid during the call only.
  Connection(User& user, std::shared_ptr<const Credentials> credentials, const QuicOptions& options,
             const Way& way, const Call* call, const Gate::Admission* admission, Time now);
  ~Connection();

  // --- Events

  void receive(const Way& way, std::span<const std::byte> packet, Time now);
  /// When expire() is due.
  Time expiry() const;
  void expire(Time now);
  /// Makes the packets that may leave now.
  void write(Time now);

  // --- How far it has come

  /// The handshake is complete, with the peer's certificate verified.
  bool up() const { return stage_ == Stage::kUp; }
  /// It is over, for this reason: none if the peer closed it in an orderly way.
  const std::optional<boost::system::error_code>& over() const { return end_.reason(); }
  /// Packets from this end have reached the peer's address.
  bool proven() const { return proof_.given(); }
  /// It is over because the peer's first word came in pieces, which are not kept for a peer whose
  /// address is not proven: it must be asked for that (Retry).
  bool wants_proof() const { return proof_.wanted(); }
  /// The answer to late packets of the peer when the connection has ended (RFC 9000 10.2.1): none
  /// if it is empty, because the peer has ended it itself (10.2.2). None: the peer cannot know of
  /// the end.
  const std::optional<std::vector<std::byte>>& closing_packet() const {
    return end_.closing_packet();
  }
  std::uint16_t streams() const { return static_cast<std::uint16_t>(send_.streams()); }
  Way way() const;
  /// Names in the peer's certificate, once it is up.
  const std::vector<std::string>& peer_names() const { return peer_names_; }

  // --- Messages, once it is up

  /// Room for octets at the end of a stream; they leave after the next commit(), with write().
  std::span<std::byte> allocate(StreamNumber stream, std::size_t size) {
    return send_.allocate(stream, size);
  }
  void commit() { send_.commit(); }
  /// Octets that are in no packet yet, and those in packets beyond kUnacknowledgedMax.
  std::size_t queued() const { return send_.queued(); }
  /// The user has taken so many octets of on_input(): the peer may send as many more.
  void consumed(StreamNumber stream, std::size_t count);
  /// The peer may send kWindow ahead.
  void open_window();
  /// Ends all streams behind the queued messages.
  void finish() { send_.finish(); }
  /// The peer has acknowledged everything, the ends of the streams included.
  bool finished() const { return send_.finished(); }
  /// Tells the peer that the connection is over, if it is not yet. Nothing follows.
  void end(CloseCode close, Time now);

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
  enum class Stage : std::uint8_t { kHandshake, kHandshakeDone, kUp };
  struct Library {
    struct Callbacks;
    /// Makes what reads and writes the packets of `connection`, which it calls back.
    static ngtcp2_conn* make(Connection& connection, const Way& way, const QuicOptions& options,
                             const Gate::Admission* admission, Time now);
  };
  struct Free {
    void operator()(ngtcp2_conn* connection) const;
  };
  struct Burst {
    std::size_t packets = 0;
    bool cut_off = false;  ///< it may have left something behind
  };
  /// The one that reads a packet, which ngtcp2 does not say when it opens one.
  static thread_local Connection* receiving_;

  /// Opens the streams if the handshake has completed.
  void come_up(Time now);
  void open_streams(std::uint64_t count, Time now);
  void keep_alive(std::chrono::nanoseconds peers_idle_timeout);
  void handle_expiry(Time now);
  Burst write_burst(Time now);
  /// False if there is nothing more to send for now.
  bool write_packet(Time now);
  void hand_out(const ngtcp2_path& path, std::span<const std::byte> packet);
  /// As the protocol numbers a stream that the peer sends on.
  std::int64_t incoming_id(StreamNumber number) const;
  void fail(int why, Time now);
  /// Tells the peer, and is over for this reason.
  void break_off(std::uint64_t code, const boost::system::error_code& reason, Time now);
  void send_close(std::uint64_t code, bool application, Time now);

  User& user_;
  TlsSide side_;
  std::unique_ptr<TlsSession> tls_;  ///< null when the handshake is over
  std::unique_ptr<LibraryMemory> memory_;
  std::unique_ptr<ngtcp2_conn, Free> library_;
  std::vector<std::string> peer_names_;
  std::uint16_t wanted_streams_;
  std::chrono::nanoseconds keep_alive_{0};  ///< 0: none
  SendQueue send_;
  ConnectionEnd end_;
  AddressProof proof_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  Stage stage_ = Stage::kHandshake;
  bool probing_ = false;  ///< a timer was due, after which more than one packet may be short
};

}  // namespace simco::net::quic
