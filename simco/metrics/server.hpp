// Serves metrics to Prometheus (exposition format 0.0.4 over HTTP).
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>

struct mg_connection;
struct mg_context;

namespace simco::metrics {

/// Serves http://ADDRESS:PORT/metrics until destroyed, on threads of its own, which have the
/// privileges of the one that creates it. `/` says where the metrics are.
class Server {
 public:
  /// `endpoint`: ADDRESS:PORT. `about`: program and version, for people. `metrics` is read on the
  /// server's threads. Throws std::runtime_error with a sentence on failure.
  Server(const std::string& endpoint, std::string about,
         std::shared_ptr<const prometheus::Collectable> metrics);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

 private:
  static int answer(mg_connection* connection, void* self);

  std::string about_;
  std::shared_ptr<const prometheus::Collectable> metrics_;
  mg_context* context_;
};

}  // namespace simco::metrics
