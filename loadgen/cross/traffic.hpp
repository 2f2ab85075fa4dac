// The traffic of simco-cross. An opener begins with a number of eight octets, the highest first: 0
// says that it sends and the listener discards; another asks for so many octets, after which it may
// ask again.
#pragma once

#include <boost/asio/io_context.hpp>

#include "loadgen/cross/journal.hpp"
#include "loadgen/cross/options.hpp"

namespace simco::cross {

/// Starts the traffic of `settings` on `io`; prints on standard error "listening", "connected" or
/// "ready" when it has begun. Throws std::runtime_error with a sentence if it cannot listen or
/// connect.
void start(boost::asio::io_context& io, Journal& journal, const Settings& settings);

}  // namespace simco::cross
