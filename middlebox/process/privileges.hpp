// Drops privileges after the start.
#pragma once

#include <functional>

namespace simco::middlebox {

/// Drops every capability permanently, except CAP_NET_ADMIN if `keep_net_admin` is set and the
/// process has it. Child processes get none. Applies to the calling thread and the threads that it
/// starts later. Throws std::system_error.
void drop_privileges(bool keep_net_admin);

/// Runs `work` on a thread without privileges, as are the threads that it starts, and waits for it.
/// Rethrows its exceptions.
void run_without_privileges(const std::function<void()>& work);

}  // namespace simco::middlebox
