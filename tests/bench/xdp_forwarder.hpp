// Plain forwarding by an XDP program, on both interfaces of a router.
#pragma once

#include <memory>

#include "tests/bench/forwarding.hpp"

namespace simco::bench {

class XdpForwarder {
 public:
  /// Exits with a message without root's rights.
  explicit XdpForwarder(const Forwarding& net);
  ~XdpForwarder();
  XdpForwarder(const XdpForwarder&) = delete;
  XdpForwarder& operator=(const XdpForwarder&) = delete;

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace simco::bench
