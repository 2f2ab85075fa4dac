// What to do about an error, for people.
#pragma once

#include <boost/system/error_code.hpp>
#include <string>

#include "agent/simcoctl/options.hpp"

namespace simco::ctl {

/// Returns whom simcoctl connects to, and how.
std::string connecting(const Options& options);
/// Returns what to do about `error` before the session is open, or nothing.
std::string hint_about_connecting(const boost::system::error_code& error, const Options& options);
/// Returns what to do about `error` at any time, or nothing.
std::string hint(const boost::system::error_code& error, const Options& options);

}  // namespace simco::ctl
