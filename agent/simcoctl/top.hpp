// simcoctl top: a live view of a middlebox, from its metrics.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "agent/simcoctl/exposition.hpp"
#include "simco/net/endpoint.hpp"

namespace simco::ctl {

/// Options of the command.
struct Top {
  net::HostPort metrics{"127.0.0.1", 9464};
  std::chrono::milliseconds interval{1000};
  std::uint64_t count = 0;  ///< exit after this many updates; 0: never
};

/// Returns the view for two readings, `seconds` apart, as simcoctl top --json prints it: rates
/// between them, and the levels at the second.
nlohmann::ordered_json compare(const Exposition& before, const Exposition& now, double seconds);
/// Returns the view as text.
std::string to_text(const nlohmann::ordered_json& view);

/// Prints views until `top.count` is reached or the program is interrupted. Returns the exit
/// status.
int run_top(const Top& top, bool json);

}  // namespace simco::ctl
