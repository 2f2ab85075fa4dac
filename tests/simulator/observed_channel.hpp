// The middlebox's end of a connection, and a record of every message that it sends there, in the
// order in which it sends them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simco/net/message_channel.hpp"
#include "simco/wire/codec.hpp"
#include "tests/support/memory_channel.hpp"

namespace simco::simulator {

/// A message that the middlebox has sent to the session of that number.
struct Sent {
  std::uint32_t session = 0;
  std::vector<std::byte> octets;
};

class ObservedChannel final : public net::MessageChannel, private net::ChannelHandler {
 public:
  /// Adds to `record`, which must outlive this.
  ObservedChannel(std::uint32_t session, std::shared_ptr<test::MemoryChannel> channel,
                  std::vector<Sent>& record)
      : session_(session), channel_(std::move(channel)), record_(record) {}

  /// Nothing more can come of it: the middlebox has ended it, or knows that it has ended.
  bool over() const { return over_; }

  void start(net::ChannelHandler& handler, const net::Framing& framing) override {
    handler_ = &handler;
    channel_->start(*this, framing);
  }
  void detach() override {
    seal();
    over_ = true;
    handler_ = nullptr;
    channel_->detach();
  }
  std::span<std::byte> allocate(std::size_t size, net::Delivery delivery,
                                std::size_t limit) override {
    seal();
    const auto room = channel_->allocate(size, delivery, limit);
    if (room.empty()) return room;
    unsealed_ = room;
    at_ = record_.size();
    record_.push_back({session_, {}});
    return room;
  }
  void flush() override {
    seal();
    channel_->flush();
  }
  std::size_t queued() const override { return channel_->queued(); }
  void pause_input() override { channel_->pause_input(); }
  void resume_input() override { channel_->resume_input(); }
  void set_hold_limit(std::size_t octets) override { channel_->set_hold_limit(octets); }
  void close() override {
    seal();
    over_ = true;
    channel_->close();
  }
  net::Transport transport() const override { return channel_->transport(); }
  bool costly() const override { return channel_->costly(); }
  std::uint16_t outbound_streams() const override { return channel_->outbound_streams(); }
  std::uint16_t inbound_streams() const override { return channel_->inbound_streams(); }
  std::string peer_address() const override { return channel_->peer_address(); }
  net::TransportStatistics statistics() const override { return {}; }
  std::optional<std::vector<std::string>> certified_names() const override {
    return channel_->certified_names();
  }

 private:
  /// The message that was allocated last is complete.
  void seal() {
    if (unsealed_.empty()) return;
    record_[at_].octets.assign(unsealed_.begin(), unsealed_.end());
    unsealed_ = {};
  }

  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override {
    return handler_->on_message(message, delivery);
  }
  void on_malformed(net::FramingError error) override { handler_->on_malformed(error); }
  void on_input_done(std::optional<std::chrono::nanoseconds> unfinished) override {
    handler_->on_input_done(unfinished);
  }
  void on_output_drained() override { handler_->on_output_drained(); }
  void on_closed(const boost::system::error_code& reason) override {
    over_ = true;
    std::exchange(handler_, nullptr)->on_closed(reason);
  }

  const std::uint32_t session_;
  std::shared_ptr<test::MemoryChannel> channel_;
  std::vector<Sent>& record_;
  net::ChannelHandler* handler_ = nullptr;
  std::span<std::byte> unsealed_;
  std::size_t at_ = 0;  ///< its place in the record
  bool over_ = false;
};

}  // namespace simco::simulator
