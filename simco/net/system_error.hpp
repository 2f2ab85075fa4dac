// What the system just said went wrong.
#pragma once

#include <boost/system/error_code.hpp>
#include <cerrno>

namespace simco::net {

/// errno as an error code.
inline boost::system::error_code last_system_error() {
  return {errno, boost::system::system_category()};
}

}  // namespace simco::net
