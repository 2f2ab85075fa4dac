// Connects to a middlebox.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "simco/net/endpoint.hpp"
#include "simco/net/message_channel.hpp"
#include "simco/net/transport.hpp"

namespace simco::net {

using OnConnected =
    std::function<void(const boost::system::error_code&, std::shared_ptr<MessageChannel>)>;

/// Resolves `target` and connects to the first of its addresses that answers, within `timeout`; the
/// kernel's SCTP with several hosts makes an association with all of them (multi-homing). `done` is
/// called exactly once, from the loop of `executor`, with a channel or the reason of the failure;
/// it keeps itself alive until then. The channel is not started yet.
void connect(const boost::asio::any_io_executor& executor, const TransportOptions& options,
             const HostPort& target, std::chrono::milliseconds timeout, ReadBuffer& read_buffer,
             OnConnected done);

/// The stack that connect() uses for these options: "kernel" or "userland".
const char* stack_name(const TransportOptions& options);

}  // namespace simco::net
