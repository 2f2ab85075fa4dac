// Pages of our own servers, as a test reads them.
#pragma once

#include <stdexcept>
#include <string>

#include "simco/http/client.hpp"
#include "tests/support/patience.hpp"

namespace simco::test {

/// Returns the page `path` of the HTTP server on the loopback interface. Throws std::runtime_error
/// if there is none.
inline std::string http_get(std::uint16_t port, const std::string& path) {
  const auto body = http::get({"127.0.0.1", port}, path, {kPatience, 1 << 24});
  if (!body) throw std::runtime_error(body.error());
  return *body;
}

}  // namespace simco::test
