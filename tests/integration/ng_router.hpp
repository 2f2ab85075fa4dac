// Calls through a router that simco-ng has opened for them.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/integration/router.hpp"
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

  /// A call from `inside` or to it, with packets before, during and after it.
  void call(std::vector<std::string> options, bool caller_inside) {
    RouterBox box(net.router, std::move(options));
    NgBox ng(net, box.port());
    const auto ends = ends_of_call();
    const auto inner = sdp(a().host, 6000);
    const auto outer = sdp(a().peer, 7000);
    ends.are_silent({a().host, 6000}, {a().peer, 7000});
    const auto offered = ng.offer("a", caller_inside ? inner : outer);
    const auto answered = ng.answer("a", "b", caller_inside ? outer : inner);
    const auto host_at = endpoint_of(caller_inside ? offered : answered);
    const auto peer_at = endpoint_of(caller_inside ? answered : offered);
    EXPECT_EQ(peer_at, (Endpoint{a().peer, 7000}));
    ends.talk(host_at, peer_at);
    EXPECT_EQ(ng.ask({{"command", "delete"}, {"from-tag", "b"}}).at("result"), "ok");
    EXPECT_TRUE(ng.program().says("ended"));
    const auto listed = [&] { return box.agent()->list(boost::asio::use_future).get(); };
    EXPECT_TRUE(eventually([&] { return listed().empty(); }));
    ends.are_silent(host_at, peer_at);
  }
};

}  // namespace simco::test
