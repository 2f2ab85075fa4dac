// Where a middlebox listens, and which security it requires there.
#pragma once

#include "middlebox/core/require.hpp"
#include "simco/net/listener.hpp"

namespace simco::middlebox {

/// A listener of the configuration.
struct ListenerSettings {
  net::ListenOptions listen;
  Require require = Require::kNone;
};

}  // namespace simco::middlebox
