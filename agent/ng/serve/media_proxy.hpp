// The media proxy behind --upstream: passes requests on to it, and takes its replies.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "simco/net/endpoint.hpp"

namespace simco::ng {

/// Must be destroyed after the loop has stopped.
class MediaProxy {
 public:
  using Handler = std::function<void(std::uint64_t request, const nlohmann::json& reply)>;

  /// Throws boost::system::system_error on failure.
  MediaProxy(boost::asio::io_context& io, const net::HostPort& where, Handler handler);

  /// Takes replies from now on, until stop().
  void start() { receive(); }
  void stop() { socket_.close(); }
  /// Passes on a request; `dictionary` begins with a space. A request that is lost on the way has
  /// no reply, as if the proxy had lost it.
  void pass_on(std::uint64_t request, const std::string& dictionary);

 private:
  void receive();
  void take(std::string_view octets);

  boost::asio::ip::udp::socket socket_;  ///< connected
  Handler handler_;
  std::string cookies_;  ///< the beginning of those of this process
  std::vector<char> buffer_;
};

}  // namespace simco::ng
