// The life of a server of the load generator: it says where it listens, and runs until it is told
// to stop.
#pragma once

#include <boost/asio/io_context.hpp>

#include "simco/net/listener.hpp"

namespace simco::loadgen {

/// Prints on standard error the warnings of `listening`, a line `listening on TRANSPORT
/// ADDRESS:PORT` for each listener, and runs the loop of `io` until SIGTERM or SIGINT.
void serve(boost::asio::io_context& io, const net::Listening& listening);

}  // namespace simco::loadgen
