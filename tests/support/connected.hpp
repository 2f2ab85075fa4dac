// A channel to a listener of the same loop.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <optional>

#include "simco/binding/framer.hpp"
#include "simco/net/connector.hpp"
#include "tests/support/channel_handler.hpp"
#include "tests/support/loop.hpp"
#include "tests/support/patience.hpp"

namespace simco::test {

/// Connects to a port on 127.0.0.1, and runs the loop until that has worked or failed. Starts the
/// channel, which may be null afterwards, with `handler`.
inline boost::system::error_code connect(Loop& loop, net::ReadBuffer& read_buffer,
                                         const net::TransportOptions& options, std::uint16_t port,
                                         RecordingHandler& handler,
                                         std::shared_ptr<net::MessageChannel>& connected) {
  std::optional<boost::system::error_code> result;
  net::connect(
      loop.io().get_executor(), options, net::HostPort{"127.0.0.1", port}, kPatience, read_buffer,
      [&](const boost::system::error_code& error, std::shared_ptr<net::MessageChannel> channel) {
        if (channel) channel->start(handler, {kMessageFramer});
        connected = std::move(channel);
        result = error;
      });
  EXPECT_TRUE(loop.run_until([&] { return result.has_value(); }));
  return result.value_or(boost::asio::error::timed_out);
}

}  // namespace simco::test
