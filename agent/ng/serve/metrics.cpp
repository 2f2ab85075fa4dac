#include "agent/ng/serve/metrics.hpp"

#include "simco/metrics/registry.hpp"

namespace simco::ng {
namespace {

using metrics::Histogram;

/// From 10 us, for requests that need no middlebox, to the second after which proxies repeat.
constexpr auto kReplySeconds = std::to_array<double>(
    {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1});

}  // namespace

struct Metrics::Figures {
  metrics::Registry registry;
  /// For each command and for all others, errors and successes.
  std::array<std::array<double*, 2>, kCommands + 1> requests{};
  Histogram& times = registry.histogram("simco_ng_reply_seconds",
                                        "Time from a request to its reply.", kReplySeconds);
  double& repetitions =
      registry.counter("simco_ng_repetitions_total", "Requests that repeat an earlier one.");
  double& sessions_lost = registry.counter("simco_ng_sessions_lost_total",
                                           "Sessions with the middlebox that were lost.");
  double& media_timeouts = registry.counter("simco_ng_media_timeouts_total",
                                            "Calls ended because none of their media passed.");
  double& calls = registry.gauge("simco_ng_calls", "Calls.");
  double& rules = registry.gauge("simco_ng_rules", "Rules and reservations of calls.");
  double& session =
      registry.gauge("simco_ng_session", "1 if a session with the middlebox is open.");

  Figures() {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::string name(i < kCommands ? name_of(static_cast<Command>(i)) : "other");
      for (const bool ok : {false, true}) {
        requests[i][ok ? 1 : 0] = &registry.counter(
            "simco_ng_requests_total", "Requests replied to, by command and result.",
            {{"command", name}, {"result", ok ? "ok" : "error"}});
      }
    }
  }
};

Metrics::Metrics() : figures_(std::make_unique<Figures>()) {}
Metrics::~Metrics() = default;

std::string Metrics::text() const { return figures_->registry.text(); }

void Metrics::replied(std::optional<Command> command, bool ok,
                      std::chrono::steady_clock::duration time) {
  const auto row = command ? static_cast<std::size_t>(*command) : kCommands;
  ++*figures_->requests[row][ok ? 1 : 0];
  figures_->times.observe(std::chrono::duration<double>(time).count());
}

void Metrics::repeated() { ++figures_->repetitions; }

void Metrics::session_lost() { ++figures_->sessions_lost; }

void Metrics::media_timeout() { ++figures_->media_timeouts; }

void Metrics::set(std::size_t calls, std::size_t rules, bool session) {
  figures_->calls = static_cast<double>(calls);
  figures_->rules = static_cast<double>(rules);
  figures_->session = session ? 1 : 0;
}

}  // namespace simco::ng
