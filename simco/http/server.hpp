// A small HTTP server on the loop, for pages that an operator reads: a GET for each connection. It
// knows neither authentication nor encryption, so it belongs on trusted addresses only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace simco::http {

/// The response to a request.
struct Response {
  int status = 200;
  std::string body;
  std::string_view type = "text/plain; charset=utf-8";  ///< Content-Type, which must outlive it
};

/// Returns the response to a GET of `path`, which begins with a slash and has no query. Called on
/// the loop.
using Handler = std::function<Response(std::string_view path)>;

/// A connection that sends no complete request of at most kHeadMax octets, or does not take the
/// response, within kServerPatience is closed; so are connections beyond kConnectionsMax.
class Server {
 public:
  /// Listens at `endpoint`, ADDRESS:PORT. Throws std::runtime_error if it cannot, with a sentence
  /// that begins with `failure`.
  Server(boost::asio::io_context& io, const std::string& endpoint, const std::string& failure,
         Handler handler);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Requests that are not answered yet have no response.
  ~Server();

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< coroutines of the loop may outlive the server
};

}  // namespace simco::http
