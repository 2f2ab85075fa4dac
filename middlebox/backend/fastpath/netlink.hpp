// Questions to the kernel by netlink, answered at once.
#pragma once

#include <libmnl/libmnl.h>

#include <array>
#include <cstddef>
#include <functional>

#include "middlebox/backend/fastpath/limits.hpp"

namespace simco::backend::fastpath {

using NetlinkBuffer = std::array<char, kNetlinkOctets>;

/// Sends a request, which asks for a dump or an acknowledgement, on that bus (NETLINK_...) and has
/// `read` look at all messages of the answer. `strict`: the kernel honours the filters in the
/// header of a dump. Returns 0, or the error (errno) if there is no answer, or not all of it.
int ask(int bus, nlmsghdr* request, const std::function<void(const nlmsghdr*)>& read,
        bool strict = false);

/// Returns whether such an error means that the kernel does not have the requested object.
bool says_absent(int error);

/// Calls `read` with each attribute of a message whose own header has `header` octets.
void for_each_attribute(const nlmsghdr* message, std::size_t header,
                        std::function<void(const nlattr*)> read);

}  // namespace simco::backend::fastpath
