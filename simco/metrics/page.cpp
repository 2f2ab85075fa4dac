#include "simco/metrics/page.hpp"

#include <utility>

namespace simco::metrics {

std::unique_ptr<http::Server> serve(boost::asio::io_context& io, const std::string& endpoint,
                                    std::string about, std::function<std::string()> text) {
  const auto answer = [about = std::move(about),
                       text = std::move(text)](std::string_view path) -> http::Response {
    if (path == "/metrics") return {200, text(), "text/plain; version=0.0.4; charset=utf-8"};
    if (path == "/") return {200, about + ": the metrics are at /metrics\n"};
    return {404, "the metrics are at /metrics\n"};
  };
  return std::make_unique<http::Server>(io, endpoint, "cannot serve metrics at", answer);
}

}  // namespace simco::metrics
