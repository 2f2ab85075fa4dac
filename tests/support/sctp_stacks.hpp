// The combinations of SCTP stacks that tests run through.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "simco/net/sctp/kernel.hpp"
#include "simco/net/transport.hpp"
#include "tests/support/port.hpp"

namespace simco::test {

struct SctpStacks {
  const char* name;
  net::SctpStack agent;
  net::SctpStack middlebox;

  friend void PrintTo(const SctpStacks& stacks, std::ostream* out) { *out << stacks.name; }
};

inline std::string name_of_stacks(const testing::TestParamInfo<SctpStacks>& info) {
  return info.param.name;
}

/// The combinations for a machine without kernel SCTP.
inline auto userland_stacks() {
  return testing::Values(SctpStacks{"Both", net::SctpStack::kUserland, net::SctpStack::kUserland});
}

/// For the laboratory's guest.
inline auto kernel_stacks() {
  using enum net::SctpStack;
  return testing::Values(SctpStacks{"Both", kKernel, kKernel},
                         SctpStacks{"UserlandAgent", kUserland, kKernel},
                         SctpStacks{"UserlandMiddlebox", kKernel, kUserland});
}

/// Of a middlebox with `stack`. The kernel's own UDP port serves the userland agents of a kernel
/// middlebox.
inline net::SctpOptions middlebox_options(net::SctpStack stack) {
  net::SctpOptions options;
  options.stack = stack;
  const bool kernel = stack == net::SctpStack::kKernel;
  options.udp_encaps = kernel ? net::sctp::kernel_udp_port() : free_port();
  return options;
}

/// Of an agent that reaches the middlebox that `theirs` belongs to.
inline net::SctpOptions agent_options(const SctpStacks& stacks, net::SctpOptions theirs) {
  theirs.stack = stacks.agent;
  theirs.kernel_encaps = stacks.agent != stacks.middlebox;
  return theirs;
}

}  // namespace simco::test
