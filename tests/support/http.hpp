// Pages of our own servers, as a test reads them.
#pragma once

#include <cstdint>
#include <string>

namespace simco::test {

/// Returns the page `path` of the HTTP server on the loopback interface. Throws std::runtime_error
/// if there is none.
std::string http_get(std::uint16_t port, const std::string& path);

}  // namespace simco::test
