// Keeps the events of a channel.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "simco/net/message_channel.hpp"
#include "tests/support/octets.hpp"

namespace simco::test {

class RecordingHandler final : public net::ChannelHandler {
 public:
  net::Flow on_message(std::span<const std::byte> message, net::Delivery delivery) override {
    messages.emplace_back(message.begin(), message.end());
    deliveries.push_back(delivery);
    then();
    if (stop_after != 0 && messages.size() >= stop_after) return net::Flow::kStop;
    if (pause_after != 0 && messages.size() >= pause_after) return net::Flow::kPause;
    return net::Flow::kContinue;
  }
  void on_malformed(net::FramingError why) override { malformed = why; }
  void on_input_done(std::optional<std::chrono::nanoseconds> since) override {
    ++reads;
    unfinished = since;
    mid_message = since.has_value();
  }
  void on_output_drained() override { ++drained; }
  void on_closed(const boost::system::error_code& why) override {
    ++closed;
    reason = why;
  }

  std::vector<Octets> messages;
  std::vector<net::Delivery> deliveries;
  std::size_t stop_after = 0;
  std::size_t pause_after = 0;
  std::function<void()> then = [] {};  ///< called within each on_message()
  std::optional<net::FramingError> malformed;
  int reads = 0;  ///< calls of on_input_done()
  bool mid_message = false;
  std::optional<std::chrono::nanoseconds> unfinished;
  int drained = 0;
  int closed = 0;
  boost::system::error_code reason;
};

}  // namespace simco::test
