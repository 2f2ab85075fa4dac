// Just enough HTTP to read the metrics of a middlebox.
#pragma once

#include <string>

#include "simco/net/endpoint.hpp"

namespace simco::ctl {

/// Returns the body of the response of the server at `from` to GET `path` (HTTP/1.0, so without
/// chunks and persistent connections). Blocks. Throws boost::system::system_error if the server
/// cannot be reached or takes too long, and std::runtime_error with a sentence if the status is not
/// 200 or the response is incomplete.
std::string http_get(const net::HostPort& from, const std::string& path);

}  // namespace simco::ctl
