// Where Prometheus finds metrics (exposition format 0.0.4).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "simco/http/server.hpp"

namespace simco::metrics {

/// Serves what `text` returns at http://ADDRESS:PORT/metrics; `/` says where the metrics are.
/// `about`: program and version, for people. Throws std::runtime_error with a sentence on failure.
std::unique_ptr<http::Server> serve(boost::asio::io_context& io, const std::string& endpoint,
                                    std::string about, std::function<std::string()> text);

}  // namespace simco::metrics
