// The fast path in front of a backend: packets of exact UDP and UDP-Lite rules are forwarded by an
// XDP program on the two interfaces, all others by the kernel's stack, where the backend decides.
//
// The backend stays the truth. An entry is there only while the backend enforces its rule: it comes
// after the backend's commit, goes before it, and ends with the rule's lifetime by itself. So the
// loss of the fast path costs speed and opens nothing.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "middlebox/backend/backend.hpp"
#include "middlebox/backend/fastpath/limits.hpp"
#include "simco/wire/instant.hpp"

namespace simco::backend::fastpath {

struct Options {
  std::string internal_if;                  ///< the router's interface to the internal network
  std::string external_if;                  ///< and to the external network
  std::uint32_t entries = kEntriesDefault;  ///< ports and directions, of each IP version
  std::function<Instant()> now;             ///< CLOCK_MONOTONIC, as the kernel has it
};

/// Returns whether the fast path is a part of this build.
bool is_built_in();

/// Returns the obstacle that keeps the fast path off between the interfaces, if any, as a clause,
/// as far as it shows without rights and without trying.
std::optional<std::string> obstacle(const std::string& internal_if, const std::string& external_if);

/// Returns `inner` with the fast path in front of it, or `inner` itself, after a line in the log,
/// if the kernel does not take the program. For the thread that runs `io`, which must outlive it.
std::unique_ptr<Backend> accelerate(boost::asio::io_context& io, std::unique_ptr<Backend> inner,
                                    const Options& options);

}  // namespace simco::backend::fastpath
