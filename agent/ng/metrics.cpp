#include "agent/ng/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "simco/metrics/page.hpp"

namespace simco::ng {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

/// From 10 us, for what the middlebox is not asked, to the second after which proxies repeat.
const Histogram::BucketBoundaries kReplySeconds = {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3,
                                                   5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,  1};

}  // namespace

struct Metrics::Figures {
  prometheus::Registry registry;
  /// For each command and for what is none, errors and successes.
  std::array<std::array<Counter*, 2>, kCommands + 1> requests{};
  Histogram& times = prometheus::BuildHistogram()
                         .Name("simco_ng_reply_seconds")
                         .Help("Time from a request to its reply.")
                         .Register(registry)
                         .Add({}, kReplySeconds);
  Counter& repetitions =
      counter("simco_ng_repetitions_total", "Requests that repeat an earlier one.");
  Counter& sessions_lost =
      counter("simco_ng_sessions_lost_total", "Sessions with the middlebox that were lost.");
  Counter& media_timeouts =
      counter("simco_ng_media_timeouts_total", "Calls ended because none of their media passed.");
  Gauge& calls = gauge("simco_ng_calls", "Calls.");
  Gauge& rules = gauge("simco_ng_rules", "Rules and reservations of calls.");
  Gauge& session = gauge("simco_ng_session", "1 if a session with the middlebox is open.");

  Figures() {
    auto& family = prometheus::BuildCounter()
                       .Name("simco_ng_requests_total")
                       .Help("Requests replied to, by command and result.")
                       .Register(registry);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const std::string name(i < kCommands ? name_of(static_cast<Command>(i)) : "other");
      requests[i][0] = &family.Add({{"command", name}, {"result", "error"}});
      requests[i][1] = &family.Add({{"command", name}, {"result", "ok"}});
    }
  }
  Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
  Counter& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
  }
};

Metrics::Metrics() : figures_(std::make_unique<Figures>()) {}
Metrics::~Metrics() = default;

std::string Metrics::text() const { return metrics::to_text(figures_->registry.Collect()); }

void Metrics::replied(std::optional<Command> command, bool ok,
                      std::chrono::steady_clock::duration time) {
  const auto row = command ? static_cast<std::size_t>(*command) : kCommands;
  figures_->requests[row][ok ? 1 : 0]->Increment();
  figures_->times.Observe(std::chrono::duration<double>(time).count());
}

void Metrics::repeated() { figures_->repetitions.Increment(); }

void Metrics::session_lost() { figures_->sessions_lost.Increment(); }

void Metrics::media_timeout() { figures_->media_timeouts.Increment(); }

void Metrics::set(std::size_t calls, std::size_t rules, bool session) {
  figures_->calls.Set(static_cast<double>(calls));
  figures_->rules.Set(static_cast<double>(rules));
  figures_->session.Set(session ? 1 : 0);
}

}  // namespace simco::ng
