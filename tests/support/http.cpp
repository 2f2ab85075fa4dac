#include "tests/support/http.hpp"

#include <stdexcept>

#include "simco/http/client.hpp"
#include "tests/support/patience.hpp"

namespace simco::test {

std::string http_get(std::uint16_t port, const std::string& path) {
  const auto body = http::get({"127.0.0.1", port}, path, {kPatience, 1 << 24});
  if (!body) throw std::runtime_error(body.error());
  return *body;
}

}  // namespace simco::test
