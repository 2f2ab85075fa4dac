// simco-ng on a router, and a proxy that speaks to it.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/network.hpp"
#include "tests/support/router_box.hpp"

namespace simco::test {

class NgBox {
 public:
  /// `port`: of the ng protocol; 0 for any free one.
  NgBox(const Network& net, std::uint16_t middlebox, const Words& options = {},
        std::uint16_t port = 0)
      : NgBox(net.router, {"127.0.0.1", middlebox}, options, port) {}
  /// On any host.
  NgBox(const NetworkNamespace& host, const Endpoint& middlebox, const Words& options,
        std::uint16_t port = 0);
  void start();
  void kill();
  Program& program() { return *program_; }

  /// Sends a request, again with the same cookie if the reply is late, as proxies do, and with
  /// another one if the middlebox was.
  nlohmann::json ask(const nlohmann::json& request);
  nlohmann::json offer(const std::string& from, const std::string& sdp,
                       nlohmann::json more = nlohmann::json::object());
  nlohmann::json answer(const std::string& from, const std::string& to, const std::string& sdp,
                        nlohmann::json more = nlohmann::json::object());
  /// Returns how many have been made, those that were late among them.
  int requests() const { return cookies_; }

 private:
  nlohmann::json ask_once(nlohmann::json request);

  const NetworkNamespace& host_;
  Udp proxy_;
  const Words words_;
  std::unique_ptr<Program> program_;
  Endpoint at_;
  int cookies_ = 0;
};

/// Both ends of a call, each with RTP and RTCP, and a stranger.
struct CallEnds {
  CallEnds(const Network& net, const Endpoint& host_rtp, const Endpoint& peer_rtp,
           const std::string& stranger_address);

  /// `host_at`, `peer_at`: where they are told that the other one is. Of packets both ways, RTP and
  /// RTCP, all arrive; of the stranger's, sent at the same time, none.
  void talk(const Endpoint& host_at, const Endpoint& peer_at) const;
  void are_silent(const Endpoint& host_at, const Endpoint& peer_at) const;

  Udp host;
  Udp host_rtcp;
  Udp peer;
  Udp peer_rtcp;
  Udp stranger;
};

}  // namespace simco::test
