// Turns what was typed into the command: a request as it is sent, or what simcoctl does itself.
#pragma once

#include <optional>
#include <string>

#include "agent/simcoctl/arguments.hpp"
#include "agent/simcoctl/options.hpp"

namespace simco::ctl {

using cli::Fault;

/// Sets `command` to the one called `name`, which needs a session.
Fault set_command(const Arguments& arguments, const std::string& name, Command& command);

Fault set_top(const Arguments& arguments, std::optional<Top>& top);

/// Sets `inspect` to where the middlebox tells what rules have counted, if that was given.
Fault set_inspect(const Arguments& arguments, std::optional<net::HostPort>& inspect);

}  // namespace simco::ctl
