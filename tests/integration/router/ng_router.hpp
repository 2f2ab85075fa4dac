// Calls through a router that simco-ng has opened for them.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/integration/router/router.hpp"
#include "tests/support/ng_box.hpp"

namespace simco::test {

inline std::string sdp(const std::string& address, int port) {
  const std::string family = address.contains(':') ? "IP6 " : "IP4 ";
  return "v=0\r\no=- 1 1 IN " + family + address + "\r\ns=-\r\nc=IN " + family + address +
         "\r\nt=0 0\r\nm=audio " + std::to_string(port) + " RTP/AVP 0\r\n";
}

/// Where an SDP says that media are received.
inline Endpoint endpoint_of(const nlohmann::json& reply) {
  const auto text = reply.at("sdp").get<std::string>();
  const auto connection = text.find("\r\nc=IN IP") + 11;
  const auto medium = text.find("m=audio ") + 8;
  return {text.substr(connection, text.find('\r', connection) - connection),
          static_cast<std::uint16_t>(std::stoi(text.substr(medium)))};
}

class NgRouter : public Router {
 protected:
  CallEnds ends_of_call() const { return {net, {a().host, 6000}, {a().peer, 7000}, a().peer2}; }
};

}  // namespace simco::test
