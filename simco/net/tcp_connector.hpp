// Connects to a middlebox over TCP.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "simco/net/endpoint.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/tcp_channel.hpp"

namespace simco::net {

/// Resolves `target` and connects to the first of its addresses that answers, within `timeout`.
/// `done` is called exactly once, from the loop of `executor`, with a channel or the reason why
/// not; it keeps itself alive until then. The channel is not started yet.
void connect_tcp(
    const boost::asio::any_io_executor& executor, const HostPort& target,
    std::chrono::milliseconds timeout, ReadBuffer& read_buffer,
    std::function<void(const boost::system::error_code&, std::shared_ptr<MessageChannel>)> done);

}  // namespace simco::net
