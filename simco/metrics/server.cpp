#include "simco/metrics/server.hpp"

#include <civetweb.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "simco/metrics/limits.hpp"

namespace simco::metrics {
namespace {

constexpr int kOk = 200;
constexpr int kNotFound = 404;

int send(mg_connection* connection, const char* type, const std::string& text) {
  mg_send_http_ok(connection, type, static_cast<long long>(text.size()));
  mg_write(connection, text.data(), text.size());
  return kOk;
}

/// What is wrong is said by an exception, not by the library on standard error.
int keep_quiet(const mg_connection*, const char*) { return 1; }

}  // namespace

Server::Server(const std::string& endpoint, std::string about,
               std::shared_ptr<const prometheus::Collectable> metrics)
    : about_(std::move(about)), metrics_(std::move(metrics)) {
  const auto threads = std::to_string(kServerThreads);
  std::array<const char*, 5> options = {"listening_ports", endpoint.c_str(), "num_threads",
                                        threads.c_str(), nullptr};
  mg_callbacks callbacks{};
  callbacks.log_message = keep_quiet;
  context_ = mg_start(&callbacks, this, options.data());
  if (context_ == nullptr) {  // and the library does not say which of these it was
    throw std::runtime_error("cannot serve metrics at " + endpoint +
                             ": the port is in use, or it is below 1024, or the address is not of "
                             "this host");
  }
  mg_set_request_handler(context_, "/", answer, this);
}

Server::~Server() { mg_stop(context_); }

int Server::answer(mg_connection* connection, void* self) {
  const auto& server = *static_cast<const Server*>(self);
  const std::string_view path = mg_get_request_info(connection)->local_uri;
  if (path == "/metrics") {
    const auto text = prometheus::TextSerializer().Serialize(server.metrics_->Collect());
    return send(connection, "text/plain; version=0.0.4; charset=utf-8", text);
  }
  if (path == "/") {
    return send(connection, "text/plain; charset=utf-8",
                server.about_ + ": the metrics are at /metrics\n");
  }
  mg_send_http_error(connection, kNotFound, "%s", "the metrics are at /metrics");
  return kNotFound;
}

}  // namespace simco::metrics
