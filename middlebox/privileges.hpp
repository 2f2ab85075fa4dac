// What the program may still do once it has started.
#pragma once

namespace simco::middlebox {

/// Gives up every capability for good, but CAP_NET_ADMIN where `keep_net_admin` and the process has
/// it. Programs that it would start get none. To be called while there is one thread. Throws
/// std::system_error.
void drop_privileges(bool keep_net_admin);

}  // namespace simco::middlebox
