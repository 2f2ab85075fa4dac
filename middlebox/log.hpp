// Where the program's log goes and what its lines look like.
#pragma once

#include <string>

namespace simco::middlebox {

/// Logs to standard error: with the time, or, where that is the systemd journal, with the priority
/// in the way the journal reads it (sd-daemon(3)) and without a second time stamp.
/// Nobody waits for standard error: lines that it does not take in time are lost, and a line says
/// how many.
void set_up_log(const std::string& level);

/// Ends the log with `line` as it is, if it is not empty. The last call.
void shut_down_log(const std::string& line);

}  // namespace simco::middlebox
