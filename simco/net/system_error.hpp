// The system's last error.
#pragma once

#include <boost/system/error_code.hpp>
#include <cerrno>

namespace simco::net {

/// errno as an error code.
inline boost::system::error_code last_system_error() {
  return {errno, boost::system::system_category()};
}

/// Whether errno says no more than: later.
inline bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace simco::net
