// Just enough of an HTTP client to read the pages of our own servers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <expected>
#include <string>

#include "simco/net/endpoint.hpp"

namespace simco::http {

/// Bounds of a response.
struct Limits {
  std::chrono::nanoseconds patience;  ///< until it is complete
  std::size_t octets;                 ///< with its head
};

/// The body of a response. The error is a phrase: why there is none, be it because the server
/// cannot be reached, takes too long, answers with another status than 200, or stops halfway.
using Body = std::expected<std::string, std::string>;

/// Reads `path` from `server`, in a request of HTTP/1.0, so that the response is not in chunks and
/// the server closes the connection. Resolving a host name blocks the loop; an address does not.
boost::asio::awaitable<Body> async_get(net::HostPort server, std::string path, Limits limits);

/// The same for callers without a loop: blocks.
Body get(const net::HostPort& server, const std::string& path, Limits limits);

}  // namespace simco::http
