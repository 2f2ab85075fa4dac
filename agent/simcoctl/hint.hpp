// Remedies for errors, for people.
#pragma once

#include <boost/system/error_code.hpp>
#include <string>

#include "agent/simcoctl/options.hpp"

namespace simco::ctl {

/// Returns the peer that simcoctl connects to, and the transport.
std::string connecting(const Settings& settings);
/// Returns the remedy for `error` before the session is open, or nothing.
std::string hint_about_connecting(const boost::system::error_code& error, const Settings& settings);
/// Returns the remedy for `error` at any time, or nothing.
std::string hint(const boost::system::error_code& error, const Settings& settings);

}  // namespace simco::ctl
