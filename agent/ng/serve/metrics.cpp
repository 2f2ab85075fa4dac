#include "agent/ng/serve/metrics.hpp"

namespace simco::ng {
namespace {

/// From 10 us, for requests that need no middlebox, to the second after which proxies repeat.
constexpr auto kReplySeconds = std::to_array<double>(
    {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1});

}  // namespace

Metrics::Metrics()
    : times(registry.histogram("simco_ng_reply_seconds", "Time from a request to its reply.",
                               kReplySeconds)) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string name(i < kCommands ? name_of(static_cast<Command>(i)) : "other");
    for (const bool ok : {false, true}) {
      requests[i][ok ? 1 : 0] = &registry.counter(
          "simco_ng_requests_total", "Requests replied to, by command and result.",
          {{"command", name}, {"result", ok ? "ok" : "error"}});
    }
  }
}

void Metrics::replied(std::optional<Command> command, bool ok,
                      std::chrono::steady_clock::duration time) {
  const auto row = command ? static_cast<std::size_t>(*command) : kCommands;
  ++*requests[row][ok ? 1 : 0];
  times.observe(std::chrono::duration<double>(time).count());
}

}  // namespace simco::ng
