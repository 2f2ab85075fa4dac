// The program's log: destination and format.
#pragma once

#include <functional>
#include <string>

namespace simco {

/// Sets up logging to standard error. Lines have the time or, if standard error is the systemd
/// journal, a priority in the journal's format (sd-daemon(3)) instead. Logging never blocks: lines
/// that standard error does not accept in time are lost, and a later line says how many. A thread
/// writes them, which calls `begin` first if it is not empty: to give up rights, say.
void set_up_log(const std::string& level, const std::function<void()>& begin);

/// Writes `line` unchanged, if it is not empty, and ends the log. Must be the last call.
void shut_down_log(const std::string& line);

}  // namespace simco
