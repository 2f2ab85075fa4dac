// A QUIC listener with its connections, from the packets of a UDP port to messages, but for TLS and
// the socket. An agent of ours has a connection; then each piece of the input has an octet for its
// kind and another for its length: any packet from anywhere, any frames under the agent's keys, any
// octets on its streams, or something that the middlebox does. Messages must arrive whole, or cut
// to the hold limit, and frames that ngtcp2 does not bear must end the connection.
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <optional>

#include "simco/binding/framer.hpp"
#include "simco/net/quic/endpoint.hpp"
#include "simco/net/quic/ngtcp2.hpp"
#include "simco/net/quic/ngtcp2_guard.hpp"
#include "simco/wire/assert.hpp"
#include "tests/fuzz/quic_fakes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace simco;
using namespace simco::net;
using boost::asio::ip::make_address;

constexpr std::size_t kHoldLimit = 500;
constexpr std::size_t kFirstPacket = 1200;
/// The packets each way that a single event may lead to.
constexpr int kRounds = 8;

const boost::asio::ip::address kBox = make_address("192.0.2.2");
const Path kAgent{make_address("192.0.2.1"), 4000, {}};
const Path kStranger{make_address("203.0.113.1"), 5000, {}};

/// The middlebox's user.
class User final : public ChannelHandler {
 public:
  explicit User(std::shared_ptr<MessageChannel> channel) : channel_(std::move(channel)) {
    channel_->start(*this, {kMessageFramer, kHoldLimit});
  }
  ~User() { channel_->detach(); }

  /// Nothing is read any more.
  bool done() const { return over_ || closed_; }
  void act(unsigned what) {
    if (over_) return;
    switch (what % 8) {
      case 0: return close();
      case 1: return channel_->pause_input();
      case 2: return channel_->resume_input();
      case 3: limit_ = kMessageSizeMax; return channel_->set_hold_limit(limit_);
      case 4: flow_ = Flow::kPause; return;
      case 5: flow_ = Flow::kContinue; return;
      default: say(what);
    }
  }

 private:
  void close() {
    closed_ = true;
    channel_->close();
  }
  void say(unsigned what) {
    const Delivery delivery{StreamId{static_cast<std::uint16_t>(what % 16)}};
    const auto room = channel_->allocate(8 + 100 * (what % 64), delivery);
    std::ranges::fill(room, std::byte{7});
    channel_->flush();
  }
  Flow on_message(std::span<const std::byte> message, Delivery) override {
    const auto size = kMessageFramer.size_of(message);
    SIMCO_ASSERT(size && (message.size() == *size || message.size() == kHoldLimit));
    return flow_;
  }
  void on_malformed(FramingError) override { close(); }
  void on_input_done(std::optional<std::chrono::nanoseconds>) override {}
  void on_output_drained() override {}
  void on_closed(const boost::system::error_code&) override { over_ = true; }

  std::shared_ptr<MessageChannel> channel_;
  std::size_t limit_ = kHoldLimit;
  Flow flow_ = Flow::kContinue;
  bool closed_ = false;
  bool over_ = false;
};

/// The other end of a connection, which the input controls.
class Agent final : quic::Connection::User {
 public:
  explicit Agent(std::shared_ptr<const quic::Credentials> credentials) {
    const quic::Connection::Call call{"192.0.2.2"};
    quic::Connection::User& user = *this;
    connection_.emplace(user, std::move(credentials), QuicOptions{}, way(), &call, nullptr,
                        quic::Endpoint::now());
  }
  void receive(std::span<const std::byte> packet) {
    connection_->receive(way(), packet, quic::Endpoint::now());
  }
  void send(quic::StreamNumber stream, std::span<const std::byte> octets) {
    if (!connection_->up() || connection_->over()) return;
    const auto number = stream % connection_->streams();
    std::ranges::copy(octets, connection_->allocate(number, octets.size()).begin());
    connection_->commit();
  }
  std::vector<std::vector<std::byte>> packets() {
    connection_->write(quic::Endpoint::now());
    return std::exchange(packets_, {});
  }

 private:
  static quic::Connection::Way way() { return {{kAgent.remote, kAgent.remote_port}, {kBox, 7626}}; }
  void on_id(const quic::ConnectionId&) override {}
  void on_id_retired(const quic::ConnectionId&) override {}
  quic::ResetToken reset_token(const quic::ConnectionId&) override { return {}; }
  void on_input(quic::StreamNumber stream, std::span<const std::byte> octets, bool) override {
    taken_.emplace_back(stream, octets.size());
  }
  void on_output(const quic::Connection::Way&, std::span<const std::byte> packet) override {
    packets_.emplace_back(packet.begin(), packet.end());
  }

 public:
  /// The middlebox may send as much more.
  void take_all() {
    for (const auto& [stream, size] : std::exchange(taken_, {})) {
      connection_->consumed(stream, size);
    }
  }

 private:
  std::vector<std::vector<std::byte>> packets_;
  std::vector<std::pair<quic::StreamNumber, std::size_t>> taken_;
  std::optional<quic::Connection> connection_;
};

class Scene {
 public:
  /// `crowded`: newcomers must prove where they are.
  explicit Scene(bool crowded)
      : endpoint_(std::make_shared<quic::Endpoint>(
            io_.get_executor(), kBox, 7626, QuicOptions{},
            *quic::Credentials::load(TlsSide::kMiddlebox, {}), true)),
        agent_(*quic::Credentials::load(TlsSide::kAgent, {})) {
    fuzz::sent.clear();
    fuzz::forged_frames = {};
    endpoint_->listen({[this](std::shared_ptr<MessageChannel> channel) {
                         users_.push_back(std::make_unique<User>(std::move(channel)));
                       },
                       [](const std::string&, const boost::system::error_code&) {},
                       crowded ? 1U : quic::kQuicHandshakesMax});
    settle();
  }
  ~Scene() {
    users_.clear();
    endpoint_->stop_listening();
  }

  void hear(const Path& from, std::span<const std::byte> packet) {
    hand_in(from, packet);
    settle();
  }
  /// An Initial as far as anyone can tell, if `octets` are like the beginning of one.
  void hear_padded(const Path& from, std::span<const std::byte> octets) {
    std::vector<std::byte> packet(octets.begin(), octets.end());
    packet.resize(std::max(packet.size(), kFirstPacket));
    hear(from, packet);
  }
  void say(quic::StreamNumber stream, std::span<const std::byte> octets) {
    agent_.send(stream, octets);
    settle();
  }
  /// `frames` in a packet of the agent's, which comes from `from`.
  void forge(const Path& from, std::span<const std::byte> frames) {
    if (frames.empty()) return;
    agent_.send(0, std::vector<std::byte>(frames.size() + 8));
    fuzz::forged_frames = frames;
    for (const auto& packet : agent_.packets()) hand_in(from, packet);
    const bool arrived = std::exchange(fuzz::forged_frames, {}).empty();
    settle();
    std::vector<std::byte> read(frames.begin(), frames.end());
    read.resize(kFirstPacket);  // there is padding behind them, and not as much
    const auto refusal = quic::guard(read, quic::PacketForm::kShort, TlsSide::kMiddlebox);
    if (quic::kNeedsGuard && arrived && refusal && !users_.empty())
      SIMCO_ASSERT(users_.front()->done());
  }
  void act(unsigned what) {
    if (!users_.empty()) users_[what % users_.size()]->act(what);
    settle();
  }

 private:
  static void hand_in(const Path& from, std::span<const std::byte> packet) {
    fuzz::port_user->on_packet(*fuzz::port, from, packet);
  }
  void settle() {
    for (int i = 0; i < kRounds; ++i) {
      fuzz::port_user->on_batch_done();
      io_.restart();
      io_.poll();
      agent_.take_all();
      auto sent = std::exchange(fuzz::sent, {});
      for (const auto& datagram : sent) {
        if (datagram.path.remote == kAgent.remote) agent_.receive(datagram.octets);
      }
      const auto packets = agent_.packets();
      for (const auto& packet : packets) hand_in(kAgent, packet);
      if (sent.empty() && packets.empty()) return;
    }
  }

  boost::asio::io_context io_;
  std::shared_ptr<quic::Endpoint> endpoint_;
  Agent agent_;
  std::vector<std::unique_ptr<User>> users_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto octets = std::as_bytes(std::span(data, size));
  if (octets.empty()) return 0;
  Scene scene((std::to_integer<unsigned>(octets[0]) & 1) != 0);
  octets = octets.subspan(1);
  while (octets.size() >= 2) {
    const auto what = std::to_integer<unsigned>(octets[0]);
    const auto length = std::to_integer<std::size_t>(octets[1]);
    octets = octets.subspan(2);
    const auto piece = octets.first(std::min(length, octets.size()));
    octets = octets.subspan(piece.size());
    const auto& from = (what & 8) != 0 ? kStranger : kAgent;
    switch (what >> 5) {
      case 0: scene.hear(from, piece); break;
      case 1: scene.hear_padded(from, piece); break;
      case 2:
      case 3: scene.forge(from, piece); break;
      case 4: scene.act(what + static_cast<unsigned>(length)); break;
      default: scene.say(what & 31, piece);
    }
  }
  return 0;
}
