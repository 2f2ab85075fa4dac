// Takes the place of the fast path in a build without clang, bpftool or libbpf.

#include "middlebox/backend/fastpath/fast_path.hpp"

namespace simco::backend::fastpath {

bool is_built_in() { return false; }

std::optional<std::string> obstacle(const std::string& /*internal_if*/,
                                    const std::string& /*external_if*/) {
  return std::nullopt;
}

std::unique_ptr<Backend> accelerate(boost::asio::io_context& /*io*/, std::unique_ptr<Backend> inner,
                                    const Options& /*options*/) {
  return inner;
}

}  // namespace simco::backend::fastpath
