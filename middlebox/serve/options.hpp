// Options of the middlebox as a program: those of the core, and where to listen.
#pragma once

#include <vector>

#include "middlebox/core/options.hpp"
#include "simco/net/listener.hpp"

namespace simco::middlebox {

/// One listener of the configuration, and which security it requires.
struct ListenerSettings {
  net::ListenOptions listen;
  Require require = Require::kNone;
};

struct ServerOptions : CoreOptions {
  net::ListenOptions listen;  ///< port 0: any free port, see Server::ports()
  Require require = Require::kNone;
  std::vector<ListenerSettings> further_listeners;
};

}  // namespace simco::middlebox
