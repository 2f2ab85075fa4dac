// A program that simcoctl runs while it keeps a rule.
#pragma once

#include <sys/types.h>

#include <boost/asio/awaitable.hpp>
#include <expected>
#include <string>
#include <vector>

namespace simco::ctl {

/// Starts `words`, found as a shell finds it, with this process's standard streams. Returns its
/// process, or why there is none.
std::expected<pid_t, std::string> start_program(const std::vector<std::string>& words);

/// Waits until it ends. Returns its exit status or, as a shell, 128 and the signal's number. The
/// process must have no other children.
boost::asio::awaitable<int> exit_status(pid_t program);

}  // namespace simco::ctl
