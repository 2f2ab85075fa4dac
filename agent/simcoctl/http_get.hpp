// The little of HTTP that reading a middlebox's metrics takes.
#pragma once

#include <string>

#include "simco/net/endpoint.hpp"

namespace simco::ctl {

/// What the server at `from` answers to GET `path` (HTTP/1.0, so neither chunks nor a connection
/// that stays). Blocks. Throws boost::system::system_error if it cannot be reached or takes too
/// long, and std::runtime_error with a sentence if the status is not 200 or the answer is not
/// whole.
std::string http_get(const net::HostPort& from, const std::string& path);

}  // namespace simco::ctl
