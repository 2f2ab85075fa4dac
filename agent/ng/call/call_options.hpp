// The options of calls.
#pragma once

#include <chrono>
#include <cstddef>

#include "agent/ng/call/limits.hpp"
#include "agent/ng/call/media.hpp"
#include "simco/wire/ids.hpp"

namespace simco::ng {

struct CallOptions {
  MediaRules media;
  Lifetime lifetime{60};
  std::chrono::seconds duration_max = kDurationMaxDefault;
  std::size_t calls_max = kCallsMaxDefault;
  bool counts = false;  ///< the middlebox can be asked for counters
  /// A call whose rules have counted nothing for so long is ended; 0: none is.
  std::chrono::seconds media_timeout{0};
  /// A media proxy does the work: requests are passed on to it, and each of its ports is opened
  /// to the party that it serves.
  bool upstream = false;
};

}  // namespace simco::ng
