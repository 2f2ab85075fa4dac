// What the program may still do once it has started.
#pragma once

#include <functional>

namespace simco::middlebox {

/// Gives up every capability for good, but CAP_NET_ADMIN where `keep_net_admin` and the process has
/// it. Programs that it would start get none. Counts for the calling thread and those that it
/// starts. Throws std::system_error.
void drop_privileges(bool keep_net_admin);

/// Runs `work` to its end on a thread without privileges, which threads that it starts share.
/// Rethrows what it throws.
void run_without_privileges(const std::function<void()>& work);

}  // namespace simco::middlebox
