// Where Prometheus finds metrics (exposition format 0.0.4).
#pragma once

#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simco/http/server.hpp"

namespace simco::metrics {

/// Returns `families` in the exposition format.
std::string to_text(const std::vector<prometheus::MetricFamily>& families);

/// Serves what `text` returns at http://ADDRESS:PORT/metrics; `/` says where the metrics are.
/// `about`: program and version, for people. Throws std::runtime_error with a sentence on failure.
std::unique_ptr<http::Server> serve(boost::asio::io_context& io, const std::string& endpoint,
                                    std::string about, std::function<std::string()> text);

}  // namespace simco::metrics
