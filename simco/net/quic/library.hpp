// The common parts of ngtcp2 and GnuTLS in a connection; included by its sources only.
#pragma once

#include <ngtcp2/ngtcp2.h>

#include "simco/net/quic/connection.hpp"

namespace simco::net::quic {

inline ngtcp2_tstamp timestamp(Time now) { return static_cast<ngtcp2_tstamp>(now.count()); }

/// `way` as the library has it, valid as long as both exist.
class PathOf {
 public:
  explicit PathOf(const Connection::Way& way)
      : way_(way), path_{address(way_.local), address(way_.remote), nullptr} {}
  PathOf(const PathOf&) = delete;
  PathOf& operator=(const PathOf&) = delete;
  const ngtcp2_path* get() const { return &path_; }

 private:
  static ngtcp2_addr address(Connection::Udp::endpoint& endpoint) {
    return {reinterpret_cast<ngtcp2_sockaddr*>(endpoint.data()),
            static_cast<ngtcp2_socklen>(endpoint.size())};
  }
  Connection::Way way_;
  ngtcp2_path path_;
};

}  // namespace simco::net::quic
