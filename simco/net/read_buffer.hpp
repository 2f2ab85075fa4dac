// The buffer that the channels of an event loop share for reading.
#pragma once

#include <array>
#include <cstddef>

#include "simco/net/limits.hpp"

namespace simco::net {

using ReadBuffer = std::array<std::byte, kReadSize>;
static_assert(kReadSize >= kUserMessageMax, "a user message of SCTP is read in one piece");

}  // namespace simco::net
