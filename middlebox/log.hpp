// Where the program's log goes and what its lines look like.
#pragma once

#include <string>

namespace simco::middlebox {

/// Logs to standard error: with the time, or, where that is the systemd journal, with the priority
/// in the way the journal reads it (sd-daemon(3)) and without a second time stamp.
void set_up_log(const std::string& level);

}  // namespace simco::middlebox
