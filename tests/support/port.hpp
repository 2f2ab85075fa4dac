// Ports for servers that have to be told one.
#pragma once

#include <cstdint>

namespace simco::test {

/// A port of the loopback interface, TCP and UDP, for this test alone: no program uses it, the
/// kernel hands it to nobody, and tests of other processes in this network namespace do not get it
/// before this process has ended.
std::uint16_t free_port();

}  // namespace simco::test
