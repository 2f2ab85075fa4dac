// The little of HTTP that reading metrics in a test takes.
#pragma once

#include <cstdint>
#include <string>

namespace simco::test {

/// What an HTTP server on the loopback interface answers to a GET, header and all. Waits for the
/// end of it; throws boost::system::system_error if nobody listens.
std::string http_get(std::uint16_t port, const std::string& path);

}  // namespace simco::test
