// The program's log: destination and format.
#pragma once

#include <string>

namespace simco::middlebox {

/// Sets up logging to standard error. Lines have the time or, if standard error is the systemd
/// journal, a priority in the journal's format (sd-daemon(3)) instead. Logging never blocks: lines
/// that standard error does not accept in time are lost, and a later line says how many.
void set_up_log(const std::string& level);

/// Writes `line` unchanged, if it is not empty, and ends the log. Must be the last call.
void shut_down_log(const std::string& line);

}  // namespace simco::middlebox
