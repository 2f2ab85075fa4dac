// Turns what was typed into the command: a request as it is sent, or what simcoctl does itself.
#pragma once

#include <optional>
#include <string>

#include "agent/simcoctl/arguments.hpp"
#include "agent/simcoctl/options.hpp"

namespace simco::ctl {

/// What is wrong with the arguments, if anything.
using Fault = std::optional<std::string>;

/// Sets `command` to the one that was given, if it needs a session.
Fault set_command(const Arguments& arguments, const Commands& commands, Command& command);

/// Sets `top` if it was given.
Fault set_top(const Arguments& arguments, const Commands& commands, std::optional<Top>& top);

/// Sets `inspect` to where the middlebox tells what rules have counted, if that was given.
Fault set_inspect(const Arguments& arguments, std::optional<net::HostPort>& inspect);

}  // namespace simco::ctl
