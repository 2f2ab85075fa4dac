// Where Prometheus finds metrics (exposition format 0.0.4).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "simco/http/server.hpp"

namespace simco::metrics {

/// Serves the result of `text` at http://ADDRESS:PORT/metrics; `/` points to it. `about`:
/// program and version, for people. Throws std::runtime_error with a sentence on failure.
std::unique_ptr<http::Server> serve(boost::asio::io_context& io, const std::string& endpoint,
                                    std::string about, std::function<std::string()> text);

}  // namespace simco::metrics
