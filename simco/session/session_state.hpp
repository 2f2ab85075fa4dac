// State of a session (RFC 4540 section 7.1, figure 41), the same word on both sides.
#pragma once

#include <cstdint>

namespace simco {

enum class SessionState : std::uint8_t {
  kClosed,  ///< no session, or no longer
  kNoAuth,  ///< SE answered by SA: authentication under way
  kOpen,    ///< established: policy rule control is possible
};

constexpr const char* to_string(SessionState state) {
  switch (state) {
    case SessionState::kClosed: return "CLOSED";
    case SessionState::kNoAuth: return "NOAUTH";
    case SessionState::kOpen: return "OPEN";
  }
  return "undefined";
}

}  // namespace simco
