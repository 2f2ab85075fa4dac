// Two connected channels without sockets and without real time. They keep to the contract of
// message_channel.hpp as TCP and SCTP do: what is under way takes its time and room, either end may
// pause or go, and the path may break. What happens depends on the calls and the scheduler alone.
#pragma once

#include <boost/asio/error.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/channel_state.hpp"
#include "simco/net/frame_splitter.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/output_queue.hpp"
#include "simco/net/user_message.hpp"
#include "tests/support/virtual_time.hpp"

namespace simco::test {

/// What lies between two ends, the same in both directions.
struct MemoryPath {
  /// kTcp: a stream of octets, cut wherever `segment` says. kSctp: user messages, on streams that
  /// do not wait for each other.
  net::Transport transport = net::Transport::kTcp;
  std::uint16_t streams = 1;  ///< in each direction; with kTcp it is 1
  /// How long the next segment or message is under way; asked once for each. In its stream none
  /// overtakes another, whatever this says, unless it is unordered. Empty: no time at all.
  std::function<Instant::duration()> delay = {};
  /// Octets that may be under way to an end and unread there. A user message that is longer goes
  /// alone.
  std::size_t window = std::size_t{256} * 1024;
  /// Octets that arrive together at most. A longer user message comes in pieces, so no more of it
  /// is kept than the hold limit.
  std::size_t segment = net::kReadSize;
};

class MemoryChannel final : public net::MessageChannel,
                            public std::enable_shared_from_this<MemoryChannel> {
 public:
  using Pair = std::pair<std::shared_ptr<MemoryChannel>, std::shared_ptr<MemoryChannel>>;

  /// Two ends of a connection that is up. The first sees a peer at `second_address`, and the other
  /// way round. `scheduler` must outlive both.
  static Pair make_pair(Scheduler& scheduler, const MemoryPath& path = {},
                        std::string first_address = "192.0.2.1",
                        std::string second_address = "192.0.2.2");
  ~MemoryChannel() override;

  void start(net::ChannelHandler& handler, const net::Framing& framing) override;
  void detach() override;
  std::span<std::byte> allocate(std::size_t size, net::Delivery delivery,
                                std::size_t limit) override;
  void flush() override;
  std::size_t queued() const override { return out_.size(); }
  void pause_input() override { state_.pause(); }
  void resume_input() override;
  void set_hold_limit(std::size_t octets) override;
  void close() override;
  net::Transport transport() const override { return path_.transport; }
  bool costly() const override { return !in_stream(); }
  std::uint16_t outbound_streams() const override { return path_.streams; }
  std::uint16_t inbound_streams() const override { return path_.streams; }
  std::string peer_address() const override { return peer_address_; }
  net::TransportStatistics statistics() const override { return {}; }
  std::optional<std::vector<std::string>> certified_names() const override {
    return certified_names_;
  }

  /// The path breaks: what is under way in either direction is lost, and both ends learn `reason`
  /// as soon as they read or send.
  void cut(const boost::system::error_code& reason = boost::asio::error::connection_reset);
  /// Whose certificate the peer is to have, as over TLS.
  void set_certified_names(std::vector<std::string> names) { certified_names_ = std::move(names); }

 private:
  /// Something under way, or arrived and not read.
  struct Packet {
    enum class Kind : std::uint8_t { kData, kEnd, kReset };
    Kind kind = Kind::kData;
    net::Delivery delivery;
    std::vector<std::byte> octets;
    boost::system::error_code reason;
  };

  MemoryChannel(Scheduler& scheduler, const MemoryPath& path, std::string peer_address);

  bool in_stream() const { return path_.transport == net::Transport::kTcp; }
  void later(Scheduler::Task task) { scheduler_.at(scheduler_.now(), std::move(task)); }

  // Output
  void send_segment();
  void send_message();
  void transmit(std::span<const std::byte> octets, net::Delivery delivery);
  void tell_peer(Packet::Kind kind, const boost::system::error_code& reason);
  boost::system::error_code reset_reason() const;
  void end_output();
  /// The peer has taken so many octets.
  void taken(std::size_t octets);
  void unblock();

  // Input
  void arrive(Packet packet);
  void read();
  void read_data();
  void read_end();
  /// The number of octets that go back to the inbox: input was paused meanwhile.
  std::size_t take_octets(Packet packet);
  void take_message(const Packet& packet);
  void drop_input();
  void ended(const boost::system::error_code& reason);

  Scheduler& scheduler_;
  MemoryPath path_;
  std::string peer_address_;
  std::optional<std::vector<std::string>> certified_names_;
  std::weak_ptr<MemoryChannel> peer_;
  net::ChannelState state_;
  bool started_ = false;

  net::OutputQueue out_;
  std::size_t outstanding_ = 0;        ///< octets under way to the peer, or unread there
  std::vector<Instant> last_arrival_;  ///< of each outbound stream
  Instant latest_arrival_;             ///< of all of them
  bool blocked_ = false;               ///< output waits for the peer's window
  bool unblocking_ = false;

  std::deque<Packet> inbox_;
  std::optional<net::FrameSplitter> splitter_;      ///< from start() on
  std::optional<net::UserMessageReader> messages_;  ///< likewise

  bool end_sent_ = false;
  bool over_ = false;
  bool peer_knows_ = false;                          ///< that it is over: nothing needs to be sent
  std::optional<boost::system::error_code> broken_;  ///< what the next write finds
};

}  // namespace simco::test
